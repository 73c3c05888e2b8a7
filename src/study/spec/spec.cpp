#include "study/spec/spec.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "study/spec/known_settings.h"
#include "yaml/yaml_reader.h"

namespace trainyard::study {
namespace {

using yaml::YamlReader;
using Entry = YamlReader::Entry;

constexpr std::size_t kMostMatrixValues = 1'000'000;

// Names become parts of file names and placeholders.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  }) && name[0] != '.';
}

[[noreturn]] void refuse_key(const Entry& entry, const char* what, const std::vector<std::string>& allowed) {
  entry.at_key.complain(fmt::format("unknown {} '{}'{}: one of {} expected", what, entry.key,
                                    did_you_mean(entry.key, allowed), joined(allowed, ", ")));
}

std::vector<std::string> words(const YamlReader& list) {
  std::vector<std::string> found;
  for (const YamlReader& item : list.items()) found.push_back(item.text());
  return found;
}

// A text is for the shell, a list of words a program with its arguments.
Command command(const YamlReader& value) {
  Command words_of_it = value.is_sequence() ? words(value) : Command{"/bin/sh", "-c", value.text()};
  if (words_of_it.empty() || words_of_it.front().empty()) value.complain("a command expected");
  return words_of_it;
}

// Returns one command, or a list of them: a list that has a list in it.
std::vector<Command> commands(const YamlReader& value) {
  if (!value.is_sequence()) return {command(value)};
  const std::vector<YamlReader> items = value.items();
  if (std::none_of(items.begin(), items.end(), std::mem_fn(&YamlReader::is_sequence)))
    return {command(value)};
  std::vector<Command> all;
  for (const YamlReader& item : items) all.push_back(command(item));
  return all;
}

std::vector<std::string> words_of(const record::SettingInfo& setting, const record::ChoicesOf& choices) {
  return choices && setting.choices.empty() ? choices(setting) : std::vector<std::string>();
}

class SpecReader {
 public:
  SpecReader(const YamlReader& root, Spec& spec, const record::ChoicesOf& choices)
      : root_(root), spec_(spec), choices_(choices) {}

  void read() {
    const std::vector<Entry> entries = root_.entries();
    // The kind of run decides which settings exist, so it is read first wherever it stands.
    for (const Entry& entry : entries)
      if (entry.key == "run") spec_.run = entry.value.one_of({"bench", "train", "ensemble", "program"});
    for (const Entry& entry : entries) read(entry);
    if (spec_.name.empty()) root_.complain("no 'study: NAME'");
    if (spec_.run == "program" && spec_.program.empty())
      root_.complain("'run: program' wants 'program: [WORD, ...]'");
    if (spec_.run != "program" && !spec_.program.empty())
      root_.complain(fmt::format("'program' is there, but 'run' is {}", spec_.run));
    check_size();
    check_parts();
    check_exclusions();
  }

 private:
  void read(const Entry& entry) {
    const YamlReader& value = entry.value;
    const std::string& key = entry.key;
    if (key == "study") return read_name(value);
    if (key == "about") return void(spec_.about = value.text());
    if (key == "build") return void(spec_.build = value.text());
    if (key == "run") return;
    if (key == "program") return void(spec_.program = words(value));
    if (key == "environment") return read_environment(value);
    if (key == "setup") return void(spec_.setup = commands(value));
    if (key == "cleanup") return void(spec_.cleanup = commands(value));
    if (key == "setup_limit") return void(spec_.setup_limit_seconds = value.seconds());
    if (key == "cleanup_limit") return void(spec_.cleanup_limit_seconds = value.seconds());
    if (key == "parts") return read_parts(value);
    if (read_into(entry, spec_)) return;
    if (key == "replicates") return void(spec_.replicates = static_cast<int>(value.integer(1, kMostRuns)));
    if (key == "order") return read_order(value);
    if (key == "seed")
      return void(spec_.seed = static_cast<std::uint64_t>(value.integer(record::range_of("seed"))));
    if (key == "time_limit") return void(spec_.time_limit_seconds = value.seconds());
    if (key == "memory_limit") return void(spec_.memory_limit_bytes = value.bytes());
    if (key == "wait_for_quiet") return void(spec_.wait_for_quiet_seconds = value.seconds());
    if (key == "pin_clocks") return void(spec_.pin_clocks = value.one_of({"true", "false"}) == "true");
    if (key == "retry_disturbed")
      return void(spec_.retry_disturbed = static_cast<int>(value.integer(0, kMostDisturbedRetries)));
    if (key == "at_once") return void(spec_.at_once = static_cast<int>(value.integer(1, kMostRuns)));
    if (key == "sbatch") return void(spec_.sbatch = words(value));
    refuse_key(entry, "key",
               {"study",       "about",      "build",        "retry_disturbed", "run",           "program",
                "environment", "setup",      "setup_limit",  "cleanup",         "cleanup_limit", "settings",
                "axes",        "exclude",    "sample",       "parts",           "replicates",    "order",
                "seed",        "time_limit", "memory_limit", "wait_for_quiet",  "pin_clocks",    "at_once",
                "sbatch"});
  }

  // Reads the keys that a part may have, too.
  bool read_into(const Entry& entry, Matrix& matrix) {
    if (entry.key == "settings")
      read_settings(entry.value, matrix);
    else if (entry.key == "axes")
      read_axes(entry.value, matrix);
    else if (entry.key == "exclude")
      read_exclusions(entry.value, matrix);
    else if (entry.key == "sample")
      read_sample(entry.value, matrix.sample);
    else
      return false;
    return true;
  }

  void read_parts(const YamlReader& value) {
    for (const YamlReader& item : value.items()) {
      spec_.parts.emplace_back();
      for (const Entry& entry : item.entries())
        if (!read_into(entry, spec_.parts.back()))
          refuse_key(entry, "key of a part", {"settings", "axes", "exclude", "sample"});
    }
    if (spec_.parts.empty()) value.complain("'parts' has none");
  }

  static void read_sample(const YamlReader& value, Sample& sample) {
    for (const Entry& entry : value.entries()) {
      if (entry.key == "points")
        sample.points = entry.value.integer(1, kMostRuns);
      else if (entry.key == "seed")
        sample.seed = static_cast<std::uint64_t>(entry.value.integer(record::range_of("seed")));
      else
        refuse_key(entry, "key of a sample", {"points", "seed"});
    }
    if (sample.points == 0) value.complain("'sample' wants 'points: COUNT'");
  }

  void read_name(const YamlReader& value) {
    spec_.name = value.text();
    if (!is_plain_name(spec_.name))
      value.complain(fmt::format("study '{}': letters, digits, '-', '_' and '.' expected", spec_.name));
  }

  void read_environment(const YamlReader& value) {
    for (const Entry& entry : value.entries()) spec_.environment[entry.key] = entry.value.text();
  }

  void check_name(const Entry& entry, const char* what) const {
    if (find_known_setting(entry.key, spec_.run) != nullptr) return;
    if (spec_.run == "program" && is_plain_name(entry.key)) return;
    std::vector<std::string> names;
    for (const record::SettingInfo* known : known_settings(spec_.run)) names.emplace_back(known->name);
    refuse_key(entry, what, names);
  }

  record::Value checked(const std::string& name, const YamlReader& at, const record::Value& value) const {
    if (const record::SettingInfo* known = find_known_setting(name, spec_.run))
      if (const std::string complaint = complaint_about(*known, value, words_of(*known, choices_));
          !complaint.empty())
        at.complain(complaint);
    return value;
  }

  void read_settings(const YamlReader& value, Matrix& matrix) {
    for (const Entry& entry : value.entries()) {
      check_name(entry, "setting");
      if (entry.value.is_sequence())
        entry.value.complain(fmt::format("'{}' has several values: that is an axis", entry.key));
      matrix.settings[entry.key] = checked(entry.key, entry.value, entry.value.value());
    }
    for (const Axis& axis : matrix.axes) refuse_both(value, matrix, axis.name);
  }

  static void refuse_both(const YamlReader& at, const Matrix& matrix, const std::string& name) {
    if (matrix.settings.contains(name)) at.complain(fmt::format("'{}' is a setting and an axis", name));
  }

  void read_axes(const YamlReader& value, Matrix& matrix) {
    for (const Entry& entry : value.entries()) {
      check_name(entry, "axis");
      refuse_both(entry.at_key, matrix, entry.key);
      matrix.axes.push_back({entry.key, values_of(entry)});
      if (matrix.axes.back().values.empty())
        entry.value.complain(fmt::format("axis '{}' has no value", entry.key));
    }
  }

  // Returns the values of an axis or an exclusion: one, or a list, of values and ranges.
  std::vector<record::Value> values_of(const Entry& entry) const {
    std::vector<record::Value> values;
    std::set<record::Value> seen;
    const auto items = entry.value.is_sequence() ? entry.value.items() : std::vector<YamlReader>{entry.value};
    for (const YamlReader& item : items)
      for (const record::Value& value : expanded(entry.key, item)) {
        if (!seen.insert(value).second)
          item.complain(fmt::format("axis '{}' has {} twice", entry.key, record::to_text(value)));
        values.push_back(checked(entry.key, item, value));
        if (static_cast<std::int64_t>(values.size()) > kMostRuns)
          item.complain(fmt::format("axis '{}' has more than {} values", entry.key, kMostRuns));
      }
    return values;
  }

  static std::vector<record::Value> expanded(const std::string& name, const YamlReader& item) {
    try {
      const auto range = item.quoted() ? std::nullopt : expand_range(item.text());
      return range ? *range : std::vector<record::Value>{item.value()};
    } catch (const Error& error) {
      item.complain(fmt::format("axis '{}': {}", name, error.what()));
    }
  }

  void read_exclusions(const YamlReader& value, Matrix& matrix) {
    for (const YamlReader& item : value.items()) {
      Exclusion exclusion{{}, item.line()};
      for (const Entry& entry : item.entries()) exclusion.matches[entry.key] = values_of(entry);
      excluded_keys_.push_back(item.entries());
      matrix.exclusions.push_back(std::move(exclusion));
    }
  }

  // Every part is a matrix of its own, with all common settings and axes.
  void check_size() const {
    const auto count = [](const Matrix& matrix) {
      std::size_t values = matrix.axes.size() + matrix.exclusions.size();
      for (const Axis& axis : matrix.axes) values += axis.values.size();
      for (const Exclusion& exclusion : matrix.exclusions)
        for (const auto& [name, matches] : exclusion.matches) values += matches.size();
      return values;
    };
    std::size_t values = count(spec_) * std::max<std::size_t>(spec_.parts.size(), 1);
    for (const Matrix& part : spec_.parts) values += count(part);
    if (values > kMostMatrixValues)
      root_.complain(
          fmt::format("axes and exclusions of all parts have {} values together, at most {} expected", values,
                      kMostMatrixValues));
  }

  void check_parts() const {
    for (const Matrix& part : spec_.parts)
      for (const Axis& common : spec_.axes)
        if (part.settings.contains(common.name) ||
            std::any_of(part.axes.begin(), part.axes.end(),
                        [&](const Axis& own) { return own.name == common.name; }))
          root_.complain(fmt::format("axis '{}' of all parts is in one of them, too", common.name));
  }

  void check_exclusions() const {
    std::vector<std::string> names;
    for (const Matrix& matrix : matrices_of(spec_))
      for (const Axis& axis : matrix.axes) names.push_back(axis.name);
    for (const std::vector<Entry>& entries : excluded_keys_)
      for (const Entry& entry : entries)
        if (std::find(names.begin(), names.end(), entry.key) == names.end()) refuse_key(entry, "axis", names);
  }

  void read_order(const YamlReader& value) {
    const std::string order = value.one_of({"nested", "shuffled", "interleaved"});
    spec_.order = order == "nested"     ? Order::nested
                  : order == "shuffled" ? Order::shuffled
                                        : Order::interleaved;
  }

  const YamlReader& root_;
  Spec& spec_;
  const record::ChoicesOf& choices_;
  std::vector<std::vector<Entry>> excluded_keys_;  // their axes may stand further down
};

}  // namespace

std::vector<Matrix> matrices_of(const Spec& spec) {
  if (spec.parts.empty()) return {spec};
  std::vector<Matrix> matrices;
  for (const Matrix& part : spec.parts) {
    Matrix whole = spec;
    for (const auto& [name, value] : part.settings) whole.settings[name] = value;
    for (const Axis& axis : part.axes) {
      whole.settings.erase(axis.name);  // a part's axis is in place of the setting of all
      whole.axes.push_back(axis);
    }
    whole.exclusions.insert(whole.exclusions.end(), part.exclusions.begin(), part.exclusions.end());
    if (part.sample.points > 0) whole.sample = part.sample;
    matrices.push_back(std::move(whole));
  }
  return matrices;
}

Spec parse_spec(const std::string& text, const std::string& file_name, const record::ChoicesOf& choices) {
  Spec spec;
  spec.file = file_name;
  spec.text = text;
  const YamlReader root = YamlReader::parse(text, file_name);
  SpecReader(root, spec, choices).read();
  return spec;
}

void override_setting(Spec& spec, const std::string& assignment, const record::ChoicesOf& choices) {
  const std::size_t equals = assignment.find('=');
  const std::string name = assignment.substr(0, equals);
  if (equals == std::string::npos || !is_plain_name(name))
    fail(ErrorKind::usage, "'{}': NAME=VALUE expected", assignment);
  const record::Value value = record::to_value(assignment.substr(equals + 1));
  const record::SettingInfo* known = find_known_setting(name, spec.run);
  if (known == nullptr && spec.run != "program") {
    std::vector<std::string> names;
    for (const record::SettingInfo* each : known_settings(spec.run)) names.emplace_back(each->name);
    fail(ErrorKind::usage, "'{}': unknown setting{}", assignment, did_you_mean(name, names));
  }
  if (known != nullptr)
    if (const std::string complaint = complaint_about(*known, value, words_of(*known, choices));
        !complaint.empty())
      fail(ErrorKind::usage, "'{}': {}", assignment, complaint);
  const auto replace_in = [&](Matrix& matrix) {
    std::erase_if(matrix.axes, [&](const Axis& axis) { return axis.name == name; });
    matrix.settings.erase(name);
    for (Exclusion& exclusion : matrix.exclusions)
      if (exclusion.matches.contains(name))
        fail(ErrorKind::usage, "'{}': line {} of {} excludes by it", assignment, exclusion.line, spec.file);
  };
  replace_in(spec);
  for (Matrix& part : spec.parts) replace_in(part);
  spec.settings[name] = value;
}

void override_wait_for_quiet(Spec& spec, const std::string& time) {
  const std::optional<double> seconds = yaml::parse_seconds(time);
  if (!seconds)
    fail(ErrorKind::usage, "{} '{}': something like {} expected", Setting{"wait_for_quiet"}, time,
         yaml::kSecondsExample);
  spec.wait_for_quiet_seconds = *seconds;
}

Spec read_spec(const std::filesystem::path& file, const record::ChoicesOf& choices) {
  const std::vector<std::byte> bytes = read_file(file, YamlReader::kMostBytes);
  return parse_spec({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string(), choices);
}

}  // namespace trainyard::study
