#include "record/resource_trace.h"

#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"

namespace trainyard::record {
namespace {

constexpr std::string_view kFirstLine = "# trainyard-profile 1";
constexpr double kMebibyte = 1024.0 * 1024.0;

// SeedColumn describes a column of the seed's sampler, in its order, the factor from its unit to ours, and
// the words that headings have for it: nvidia-smi's, and those of published tables.
struct SeedColumn {
  const char* name;
  double unit;
  std::optional<double> capacity;
  std::array<std::string_view, 4> headings;
};
const SeedColumn kSeedColumns[] = {
    {"gpu0_busy_fraction", 0.01, 1.0, {"utilization.gpu", "gpu util", "gpu_util", "gpu%"}},
    {"gpu0_memory_busy_fraction",
     0.01,
     1.0,
     {"utilization.memory", "gpu mem util", "gpu_memory_util", "mem util"}},
    {"gpu0_memory_used_bytes", kMebibyte, {}, {"memory.used", "gpu memory", "gpu_memory", "mib"}},
    {"machine_cpu_fraction", 0.01, 1.0, {"cpu util", "cpu_util", "cpu", "cpu%"}},
    {"tx", 1, {}, {"tx", "tx", "tx", "tx"}},
    {"rx", 1, {}, {"rx", "rx", "rx", "rx"}}};
constexpr std::size_t kFewestSeedColumns = 2;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(separator, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r\"");
  return from == std::string_view::npos ? "" : text.substr(from, text.find_last_not_of(" \t\r\"") - from + 1);
}

// Returns the number in the text, optionally followed by a unit.
std::optional<double> number_in(std::string_view text, bool with_unit = false) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || (!with_unit && end != text.data() + text.size())) return std::nullopt;
  return number;
}

// Lines holds the lines of a file, with their position for errors.
class Lines {
 public:
  Lines(std::string_view text, const std::filesystem::path& path) : rest_(text), path_(path) {}

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }
  int number() const { return number_; }

  template <typename... Arguments>
  [[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    fail(ErrorKind::config, "'{}' line {}: {}", path_.string(), number_,
         fmt::format(format, std::forward<Arguments>(arguments)...));
  }

 private:
  std::string_view rest_;
  const std::filesystem::path& path_;
  int number_ = 0;
};

// "# counter cpu_seconds 2"
TraceColumn column_in(std::string_view line, const Lines& lines) {
  const std::vector<std::string_view> words = split(line.substr(2), ' ');
  TraceColumn column;
  if (words.size() == 2 || words.size() == 3) {
    column.name = words[1];
    column.kind = words[0] == "counter" ? TraceColumn::Kind::counter : TraceColumn::Kind::gauge;
    if (words.size() == 3) column.capacity = number_in(words[2]);
    if ((words[0] == "counter" || words[0] == "gauge") && (words.size() == 2 || column.capacity))
      return column;
  }
  lines.refuse("'{}' says no column; '# counter NAME CAPACITY' or '# gauge NAME CAPACITY' does", line);
}

void read_head(std::string_view line, Lines& lines, ResourceTrace& trace) {
  while (lines.next(line) && line.starts_with("# ")) trace.columns.push_back(column_in(line, lines));
  std::string wanted = "seconds";
  for (const TraceColumn& column : trace.columns) wanted += "," + column.name;
  if (line != wanted) lines.refuse("the columns are not '{}'", wanted);
}

ResourceTrace read_own(std::string_view line, Lines& lines) {
  ResourceTrace trace;
  read_head(line, lines, trace);
  while (lines.next(line)) {
    const std::vector<std::string_view> cells = split(line, ',');
    if (cells.size() != trace.columns.size() + 1)
      lines.refuse("{} cells, not {}", cells.size(), trace.columns.size() + 1);
    const std::optional<double> seconds = number_in(cells[0]);
    if (!seconds || !std::isfinite(*seconds)) lines.refuse("'{}' is no time", cells[0]);
    if (!trace.seconds.empty() && *seconds <= trace.seconds.back())
      lines.refuse("{} s does not come after {} s", *seconds, trace.seconds.back());
    trace.seconds.push_back(*seconds);
    for (std::size_t i = 0; i < trace.columns.size(); ++i) {
      std::vector<double>& values = trace.columns[i].values;
      if (cells[i + 1].empty() && !values.empty()) {
        values.push_back(values.back());
        continue;
      }
      const std::optional<double> number = number_in(cells[i + 1]);
      if (!number) lines.refuse("'{}' is no number", cells[i + 1]);
      values.push_back(*number);
    }
  }
  return trace;
}

// Returns the column that a heading is about: the longest words that it begins with tell it. None: unknown.
const SeedColumn* headed(std::string_view heading) {
  std::string plain(heading);
  for (char& c : plain) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const SeedColumn* found = nullptr;
  std::size_t longest = 0;
  for (const SeedColumn& column : kSeedColumns)
    for (const std::string_view words : column.headings)
      if (plain.starts_with(words) && words.size() > longest) {
        found = &column;
        longest = words.size();
      }
  return found;
}

// Returns the columns by the first line: those that its headings name, or without headings the sampler's
// first ones in their order.
std::vector<const SeedColumn*> seed_columns(const std::vector<std::string_view>& cells, bool headings,
                                            const Lines& lines) {
  if (cells.size() < kFewestSeedColumns || cells.size() > std::size(kSeedColumns))
    lines.refuse(
        "{} cells: neither a trace of trainyard profile nor the first {} or more of GPU %, GPU memory %, "
        "MiB, "
        "CPU %, tx, rx",
        cells.size(), kFewestSeedColumns);
  std::vector<const SeedColumn*> columns;
  bool all_known = headings;
  for (const std::string_view cell : cells) {
    columns.push_back(headed(trimmed(cell)));
    all_known = all_known && columns.back() != nullptr &&
                std::count(columns.begin(), columns.end(), columns.back()) == 1;
  }
  for (std::size_t i = 0; i < cells.size() && !all_known; ++i) columns[i] = &kSeedColumns[i];
  return columns;
}

ResourceTrace read_seed(std::string_view line, Lines& lines, double hz) {
  ResourceTrace trace;
  const std::vector<std::string_view> first = split(line, ',');
  bool headings = !number_in(trimmed(first[0]), true);
  const std::vector<const SeedColumn*> columns = seed_columns(first, headings, lines);
  for (const SeedColumn* column : columns)
    trace.columns.push_back({column->name, TraceColumn::Kind::gauge, column->capacity, {}});
  do {
    if (std::exchange(headings, false) || trimmed(line).empty()) continue;
    const std::vector<std::string_view> cells = split(line, ',');
    if (cells.size() != columns.size())
      lines.refuse("{} cells, and the first line has {}", cells.size(), columns.size());
    trace.seconds.push_back(static_cast<double>(trace.seconds.size() + 1) / hz);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::optional<double> number = number_in(trimmed(cells[i]), true);
      if (!number) lines.refuse("'{}' is no number", cells[i]);
      trace.columns[i].values.push_back(*number * columns[i]->unit);
    }
  } while (lines.next(line));
  return trace;
}

}  // namespace

const TraceColumn* ResourceTrace::find(std::string_view name) const {
  for (const TraceColumn& column : columns)
    if (column.name == name) return &column;
  return nullptr;
}

std::string to_csv(const ResourceTrace& trace) {
  std::string text = fmt::format("{}\n", kFirstLine), heads = "seconds";
  for (const TraceColumn& column : trace.columns) {
    text +=
        fmt::format("# {} {}", column.kind == TraceColumn::Kind::counter ? "counter" : "gauge", column.name);
    text += column.capacity ? fmt::format(" {}\n", *column.capacity) : "\n";
    heads += "," + column.name;
  }
  text += heads + "\n";
  auto out = std::back_inserter(text);
  for (std::size_t row = 0; row < trace.seconds.size(); ++row) {
    fmt::format_to(out, "{}", trace.seconds[row]);
    for (const TraceColumn& column : trace.columns) {
      const double value = column.values[row];
      const bool known = std::isfinite(value);
      // An unchanged value is left empty, because most values of a trace do not change.
      const bool same =
          row > 0 && (value == column.values[row - 1] || (!known && !std::isfinite(column.values[row - 1])));
      text += ',';
      if (!same) known ? fmt::format_to(out, "{}", value) : fmt::format_to(out, "nan");
    }
    text += '\n';
  }
  return text;
}

ResourceTrace read_resource_trace(const std::filesystem::path& path, double seed_hz) {
  const std::vector<std::byte> bytes = read_file(path);
  Lines lines({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
  std::string_view line;
  if (!lines.next(line)) fail(ErrorKind::config, "'{}': an empty file is no trace", path.string());
  ResourceTrace trace = line == kFirstLine ? read_own(line, lines) : read_seed(line, lines, seed_hz);
  if (trace.seconds.size() < 2) fail(ErrorKind::config, "'{}': fewer than two samples", path.string());
  return trace;
}

void write_resource_trace(const ResourceTrace& trace, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(to_csv(trace));
  file.commit();
}

}  // namespace trainyard::record
