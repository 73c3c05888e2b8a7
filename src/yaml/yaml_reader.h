#pragma once

#include <yaml-cpp/yaml.h>

#include "record/value.h"

namespace trainyard::yaml {

// YamlReader is a place in a YAML file that knows its position, so that every complaint begins with
// file:line:column. All commands read their YAML through it.
class YamlReader {
 public:
  // A few lines of aliases can stand for more values than fit into memory. A document beyond these limits,
  // with every alias replaced by its content, is refused before any of it is built.
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  static constexpr std::int64_t kMostNodes = 200'000;
  // Settings are looked up by name repeatedly, so mappings are limited.
  static constexpr std::int64_t kMostKeys = 10'000;  // of one mapping
  static constexpr int kMostDepth = 64;

  // Throws Error (config) when the text is no YAML or not in UTF-8, exceeds the limits, has an alias inside
  // of its own content, or has a mapping with a duplicate key.
  static YamlReader parse(const std::string& text, const std::string& file_name);
  static YamlReader read(const std::filesystem::path& file);

  [[noreturn]] void complain(const std::string& what) const;
  int line() const { return node_.Mark().line + 1; }
  std::string place() const;  // file:line:column, for complaints that come when the reader is gone

  struct Entry;
  bool is_sequence() const { return node_.IsSequence(); }
  bool is_mapping() const { return node_.IsMap(); }
  bool is_empty() const { return node_.IsNull(); }  // nothing, or "null"
  std::vector<Entry> entries() const;               // of a mapping, in the order of the file
  std::vector<YamlReader> items() const;            // of a sequence
  std::string text() const;                         // of a scalar
  record::Value value() const;                      // of a scalar; quoted ones are text
  bool quoted() const { return node_.Tag() == "!"; }
  std::int64_t integer(const record::NumberRange& range) const;  // REQUIRES: of whole numbers
  std::int64_t integer(std::uint64_t least, std::uint64_t most = record::NumberRange::kMostWhole) const {
    return integer(record::NumberRange::whole(least, most));
  }
  double number(const record::NumberRange& range) const;
  double seconds() const;      // 90, 90s, 15m, 3h
  std::int64_t bytes() const;  // 512MiB, 2GiB, 100000
  std::string one_of(const std::vector<std::string>& allowed) const;

 private:
  YamlReader(const YAML::Node& node, std::string file_name) : node_(node), file_name_(std::move(file_name)) {}
  void refuse_repeated_keys() const;
  YAML::Node node_;
  std::string file_name_;
};

// Parses a time as YamlReader::seconds() does; returns nothing for other text. The example is for complaints.
std::optional<double> parse_seconds(const std::string& text);
inline constexpr const char* kSecondsExample = "90s, 15m or 3h";

struct YamlReader::Entry {
  std::string key;
  YamlReader at_key, value;
};

}  // namespace trainyard::yaml
