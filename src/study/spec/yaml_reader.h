#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "record/number_range.h"
#include "record/value.h"

namespace trainyard::study {

// A place in a YAML file that knows where it stands, so that every complaint begins with file:line:column.
// All commands read their YAML through it.
class YamlReader {
 public:
  // A few lines of aliases can stand for more values than a machine has memory: what is more than these, with
  // every alias replaced by what it stands for, is refused before any of it is built.
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  static constexpr std::int64_t kMostNodes = 200'000;
  // Settings are looked up by name again and again.
  static constexpr std::int64_t kMostKeys = 10'000;  // of one mapping
  static constexpr int kMostDepth = 64;

  // Error (config) when the text is no YAML or not in UTF-8, is beyond the limits, has an alias inside of
  // what it stands for, or a mapping in it has a key twice.
  static YamlReader parse(const std::string& text, const std::string& file_name);
  static YamlReader read(const std::filesystem::path& file);

  [[noreturn]] void complain(const std::string& what) const;
  int line() const { return node_.Mark().line + 1; }

  struct Entry;
  bool is_sequence() const { return node_.IsSequence(); }
  std::vector<Entry> entries() const;     // of a mapping, in the order of the file
  std::vector<YamlReader> items() const;  // of a sequence
  std::string text() const;               // of a scalar
  record::Value value() const;            // of a scalar; quoted ones are text
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
  YamlReader(YAML::Node node, std::string file_name)
      : node_(std::move(node)), file_name_(std::move(file_name)) {}
  void refuse_repeated_keys() const;
  YAML::Node node_;
  std::string file_name_;
};

// A time as YamlReader::seconds() reads it; none: the text is no such time. An example is for complaints.
std::optional<double> parse_seconds(const std::string& text);
inline constexpr const char* kSecondsExample = "90s, 15m or 3h";

struct YamlReader::Entry {
  std::string key;
  YamlReader at_key, value;
};

}  // namespace trainyard::study
