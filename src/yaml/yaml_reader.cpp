#include "yaml/yaml_reader.h"

#include <sstream>

#include <yaml-cpp/eventhandler.h>

#include "base/error.h"
#include "base/file.h"
#include "base/quantity.h"
#include "base/text.h"

namespace trainyard::yaml {

namespace {

std::string place_of(const std::string& file_name, const YAML::Mark& mark) {
  // An empty file has the mark -1.
  return fmt::format("{}:{}:{}", file_name, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1);
}

[[noreturn]] void complain_at(const std::string& file_name, const YAML::Mark& mark, const std::string& what) {
  fail(ErrorKind::config, "{}: {}", place_of(file_name, mark), what);
}

// Returns the bytes of the character that begins here; 0: it is not UTF-8 (RFC 3629, section 4).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool too_long = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool no_character = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return too_long || no_character ? 0 : length;
}

// Values become names of files, JSON and rows of the store, which accept only UTF-8.
void refuse_other_encodings(std::string_view text, const std::string& file_name) {
  int line = 1;
  for (std::size_t at = 0, length; at < text.size(); at += length) {
    length = utf8_length(text.substr(at));
    if (length == 0) fail(ErrorKind::config, "{}:{}: text in UTF-8 expected", file_name, line);
    line += text[at] == '\n' ? 1 : 0;
  }
}

// LimitCheck counts the size of a document without building any of it. Each alias counts as all that it
// stands for, which also bounds the depth of aliases of aliases: a chain of k holds k (k + 1) / 2 nodes.
class LimitCheck : public YAML::EventHandler {
 public:
  explicit LimitCheck(const std::string& file_name) : file_name_(file_name) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add_leaf(mark, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    add_leaf(mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = nodes_of_.find(anchor);
    if (found == nodes_of_.end()) complain_at(file_name_, mark, "an alias inside of what it stands for");
    count_child(mark);
    add(mark, found->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, false);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, true);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YAML::anchor_t anchor;
    std::int64_t nodes_before;
    bool is_map;
    std::int64_t children = 0;  // of a mapping keys and values
  };

  void count_child(const YAML::Mark& mark) {
    if (open_.empty() || ++open_.back().children <= 2 * YamlReader::kMostKeys || !open_.back().is_map) return;
    complain_at(file_name_, mark, fmt::format("a mapping of more than {} keys", YamlReader::kMostKeys));
  }

  void add(const YAML::Mark& mark, std::int64_t nodes) {
    nodes_ += nodes;
    if (nodes_ > YamlReader::kMostNodes)
      complain_at(
          file_name_, mark,
          fmt::format("more than {} values, aliases counted as what they stand for", YamlReader::kMostNodes));
  }
  void add_leaf(const YAML::Mark& mark, YAML::anchor_t anchor) {
    count_child(mark);
    add(mark, 1);
    if (anchor != YAML::NullAnchor) nodes_of_[anchor] = 1;
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor, bool is_map) {
    count_child(mark);
    if (open_.size() == YamlReader::kMostDepth)
      complain_at(file_name_, mark,
                  fmt::format("lists and mappings more than {} deep", YamlReader::kMostDepth));
    open_.push_back({anchor, nodes_, is_map});
    add(mark, 1);
  }
  void close() {
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.anchor != YAML::NullAnchor) nodes_of_[closed.anchor] = nodes_ - closed.nodes_before;
  }

  const std::string& file_name_;
  std::int64_t nodes_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::int64_t> nodes_of_;  // of anchors whose node is complete
};

}  // namespace

YamlReader YamlReader::parse(const std::string& text, const std::string& file_name) {
  if (text.size() > kMostBytes) fail(ErrorKind::config, "'{}': more than {} bytes", file_name, kMostBytes);
  refuse_other_encodings(text, file_name);
  try {
    std::istringstream stream(text);
    LimitCheck limits(file_name);
    YAML::Parser(stream).HandleNextDocument(limits);
    const YamlReader root(YAML::Load(text), file_name);
    root.refuse_repeated_keys();
    return root;
  } catch (const YAML::Exception& error) {
    complain_at(file_name, error.mark, error.msg);
  }
}

YamlReader YamlReader::read(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file, kMostBytes);
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string());
}

void YamlReader::refuse_repeated_keys() const {
  if (node_.IsSequence())
    for (const YamlReader& item : items()) item.refuse_repeated_keys();
  if (!node_.IsMap()) return;
  std::set<std::string> seen;
  for (const Entry& entry : entries()) {
    if (!seen.insert(entry.key).second) entry.at_key.complain(fmt::format("'{}' is there twice", entry.key));
    entry.value.refuse_repeated_keys();
  }
}

std::string YamlReader::place() const { return place_of(file_name_, node_.Mark()); }

void YamlReader::complain(const std::string& what) const { complain_at(file_name_, node_.Mark(), what); }

std::vector<YamlReader::Entry> YamlReader::entries() const {
  if (!node_.IsMap()) complain("'key: value' lines expected");
  std::vector<Entry> entries;
  for (const auto& pair : node_) {
    const YamlReader key(pair.first, file_name_);
    entries.push_back({key.text(), key, YamlReader(pair.second, file_name_)});
  }
  return entries;
}

std::vector<YamlReader> YamlReader::items() const {
  if (!node_.IsSequence()) complain("a list expected, such as [1, 2, 4]");
  std::vector<YamlReader> items;
  for (const auto& item : node_) items.push_back(YamlReader(item, file_name_));
  return items;
}

std::string YamlReader::text() const {
  if (!node_.IsScalar()) complain("one value expected");
  return node_.Scalar();
}

record::Value YamlReader::value() const {
  return quoted() ? record::Value(text()) : record::to_value(text());
}

std::int64_t YamlReader::integer(const record::NumberRange& range) const {
  TRAINYARD_CHECK(range.is_whole());
  const record::Value found = value();
  if (!range.contains(found)) complain(range.complaint(text()));
  return std::get<std::int64_t>(found);
}

double YamlReader::number(const record::NumberRange& range) const {
  const record::Value found = value();
  if (!range.contains(found)) complain(range.complaint(text()));
  return record::number_or(found, 0);
}

std::optional<double> parse_seconds(const std::string& text) {
  constexpr double kLeastSeconds = 1e-6;
  return number_with_unit(text, {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}}, kLeastSeconds);
}

double YamlReader::seconds() const {
  if (const std::optional<double> found = parse_seconds(text())) return *found;
  complain(fmt::format("'{}' given, something like {} expected", text(), kSecondsExample));
}

std::int64_t YamlReader::bytes() const {
  if (const std::optional<std::int64_t> found = parse_bytes(text())) return *found;
  complain(fmt::format("'{}' given, something like {} expected", text(), kBytesExample));
}

std::string YamlReader::one_of(const std::vector<std::string>& allowed) const {
  const std::string given = text();
  const auto found = std::find(allowed.begin(), allowed.end(), given);
  if (found == allowed.end())
    complain(fmt::format("'{}'{}: one of {} expected", given, did_you_mean(given, allowed),
                         joined(allowed, ", ")));
  return *found;
}

}  // namespace trainyard::yaml
