#include "study/yaml_reader.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest_name.h"

namespace trainyard::study {

YamlReader YamlReader::parse(const std::string& text, const std::string& file_name) {
  try {
    const YamlReader root(YAML::Load(text), file_name);
    root.refuse_repeated_keys();
    return root;
  } catch (const YAML::Exception& error) {
    fail(ErrorKind::config, "{}:{}:{}: {}", file_name, error.mark.line + 1, error.mark.column + 1, error.msg);
  }
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

std::string YamlReader::where() const {
  const YAML::Mark mark = node_.Mark();  // of an empty file: -1
  return fmt::format("{}:{}:{}", file_name_, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1);
}

void YamlReader::complain(const std::string& what) const { fail(ErrorKind::config, "{}: {}", where(), what); }

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

std::int64_t YamlReader::integer(std::int64_t least) const {
  const record::Value found = value();
  const auto* number = std::get_if<std::int64_t>(&found);
  if (number == nullptr || *number < least)
    complain(fmt::format("'{}' given, a whole number of at least {} expected", text(), least));
  return *number;
}

double YamlReader::number_with_unit(const std::vector<std::pair<std::string, double>>& units,
                                    const char* example) const {
  const std::string given = text();
  double number = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
  const std::string unit(end, given.data() + given.size());
  for (const auto& [name, factor] : units)
    if (error == std::errc() && unit == name && number > 0) return number * factor;
  complain(fmt::format("'{}' given, something like {} expected", given, example));
}

double YamlReader::seconds() const {
  return number_with_unit({{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}}, "90s, 15m or 3h");
}

std::int64_t YamlReader::bytes() const {
  constexpr double kKiB = 1024;
  return static_cast<std::int64_t>(number_with_unit(
      {{"", 1}, {"KiB", kKiB}, {"MiB", kKiB * kKiB}, {"GiB", kKiB * kKiB * kKiB}}, "512MiB or 2GiB"));
}

std::string YamlReader::one_of(const std::vector<std::string>& allowed) const {
  const std::string given = text();
  const auto found = std::find(allowed.begin(), allowed.end(), given);
  if (found == allowed.end())
    complain(fmt::format("'{}'{}: one of {} expected", given, did_you_mean(given, allowed),
                         fmt::join(allowed, ", ")));
  return *found;
}

}  // namespace trainyard::study
