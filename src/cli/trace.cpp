#include "base/json.h"
#include "cli/commands.h"

#include "base/text.h"
#include "cli/option_checks.h"
#include "trace/chrome_format.h"
#include "trace/summary.h"

namespace trainyard::cli {

namespace {

struct TraceCommand {
  const char *name, *summary;
  std::function<int()> (*declare)(Command&);
};

constexpr TraceCommand kTraceCommands[] = {
    {"summarize", "Time by category and op, causes of idle time, share of the infeed",
     declare_trace_summarize},
    {"diff", "What a step takes in one trace and in another, by category and op", declare_trace_diff},
};

}  // namespace

std::function<int()> declare_trace(Command& command) {
  command.require_subcommand(1);
  const auto runs = std::make_shared<std::map<const Command*, std::function<int()>>>();
  for (const TraceCommand& row : kTraceCommands) {
    Command* below = command.add_subcommand(row.name, row.summary);
    (*runs)[below] = row.declare(*below);
  }
  command.footer(
      "`bench --trace FILE` and `train --trace FILE` write traces (docs/formats/trace.md); those of "
      "PyTorch's "
      "profiler\n"
      "are read, too.\n\n"
      "Examples:\n"
      "  trainyard trace summarize traces/lenet.json\n"
      "  trainyard trace summarize traces/lenet.json --json");
  return [runs, &command] { return runs->at(command.chosen())(); };
}

namespace {

struct TraceDiffOptions {
  std::filesystem::path a, b;
  std::size_t ops = 20;
  bool json = false;
};

struct Pair {
  std::string name;
  double a = 0, b = 0;  // seconds of an average step of one device

  double difference() const { return b - a; }
};

trace::Summary read(const std::filesystem::path& file) {
  return trace::summarise(trace::read_chrome_file(file), file.string());
}

std::map<std::string, double> ops_of(const trace::Summary& summary) {
  std::map<std::string, double> seconds;
  for (const trace::OpTime& op : summary.ops) seconds[op.name] += op.seconds / summary.devices;
  return seconds;
}

// Puts the largest difference first.
std::vector<Pair> pairs(const std::map<std::string, double>& a, std::size_t steps_a,
                        const std::map<std::string, double>& b, std::size_t steps_b) {
  std::map<std::string, Pair> found;
  for (const auto& [name, seconds] : a) found[name].a = seconds / static_cast<double>(steps_a);
  for (const auto& [name, seconds] : b) found[name].b = seconds / static_cast<double>(steps_b);
  std::vector<Pair> rows;
  for (auto& [name, pair] : found) rows.push_back({name, pair.a, pair.b});
  std::stable_sort(rows.begin(), rows.end(), [](const Pair& x, const Pair& y) {
    return std::abs(x.difference()) > std::abs(y.difference());
  });
  return rows;
}

Json json_of(const Pair& pair) {
  return {{"name", pair.name},
          {"a_seconds", pair.a},
          {"b_seconds", pair.b},
          {"difference_seconds", pair.difference()}};
}

Json json_of(const std::vector<Pair>& rows) {
  Json array = Json::array();
  for (const Pair& row : rows) array.push_back(json_of(row));
  return array;
}

void print(const char* title, const std::vector<Pair>& rows, std::size_t most) {
  fmt::print("{:<40} {:>10} {:>10} {:>11} {:>8}\n", title, "A", "B", "B - A", "B / A");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const Pair& row = rows[i];
    fmt::print("{:<40.40} {:>10} {:>10} {:>11} {:>8}\n", row.name, format_seconds(row.a),
               format_seconds(row.b),
               (row.difference() < 0 ? "-" : "+") + format_seconds(std::abs(row.difference())),
               row.a > 0 ? fmt::format("{:.3f}", row.b / row.a) : "");
  }
  if (most < rows.size()) fmt::print("and {} more\n", rows.size() - most);
}

int diff(const TraceDiffOptions& options) {
  const trace::Summary a = read(options.a), b = read(options.b);
  const std::size_t steps_a = a.steps.size(), steps_b = b.steps.size();
  const Pair whole{"step", a.all.seconds / static_cast<double>(steps_a),
                   b.all.seconds / static_cast<double>(steps_b)};
  const std::vector<Pair> categories = pairs(a.all.by_category, steps_a, b.all.by_category, steps_b),
                          ops = pairs(ops_of(a), steps_a, ops_of(b), steps_b);
  if (options.json) {
    const Json json{
        {"seconds", json_of(whole)}, {"by_category", json_of(categories)}, {"by_op", json_of(ops)}};
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  print("", {whole}, 1);
  fmt::print("\n");
  print("category", categories, categories.size());
  fmt::print("\n");
  print("op", ops, options.ops);
  return 0;
}

}  // namespace

std::function<int()> declare_trace_diff(Command& command) {
  const auto options = std::make_shared<TraceDiffOptions>();
  command.add_option("a", options->a, "Before: a trace")->required()->type_name("A");
  command.add_option("b", options->b, "After: a trace")->required()->type_name("B");
  command.add_option("--top", options->ops, "Ops to print; --json has all")
      ->transform(within(record::NumberRange::whole(1, 1'000'000)))
      ->capture_default_str();
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Of an average step of one device. Whether runs differ by more than chance is what `compare` says.\n\n"
      "Examples:\n"
      "  trainyard trace diff traces/lenet.json traces/lenet.json\n"
      "  trainyard trace diff traces/lenet.json traces/lenet.json --json");
  return [options, &command] {
    warn_of_idle_options(command, {{options->json, {"--top"}, "--json has all"}});
    return diff(*options);
  };
}

}  // namespace trainyard::cli
