#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "trace/chrome_format.h"
#include "trace/summary.h"

namespace trainyard::cli {
namespace {

struct TraceSummarizeOptions {
  std::filesystem::path file;
  std::size_t ops = 20;
  bool json = false;
};

double share(double seconds, const trace::TimeShares& time) {
  return time.seconds > 0 ? seconds / time.seconds : 0;
}

Json json_of(const trace::TimeShares& time) {
  Json categories = Json::object(), causes = Json::object();
  for (const auto& [name, seconds] : time.by_category)
    categories[name] = {{"seconds", seconds}, {"share", share(seconds, time)}};
  for (const auto& [name, seconds] : time.idle_causes)
    causes[name] = {{"seconds", seconds}, {"share", share(seconds, time)}};
  return {{"seconds", time.seconds},
          {"infeed_share", time.infeed_share()},
          {"by_category", std::move(categories)},
          {"idle_causes", std::move(causes)}};
}

Json to_json(const trace::Trace& trace, const trace::Summary& summary) {
  Json steps = Json::array(), ops = Json::array(), facts = Json::object();
  for (const auto& [name, value] : trace.facts) facts[name] = value;
  for (const trace::StepTime& step : summary.steps) {
    Json row{{"step", step.name}};
    row.update(json_of(step.time));
    steps.push_back(std::move(row));
  }
  for (const trace::OpTime& op : summary.ops)
    ops.push_back({{"op", op.name},
                   {"category", op.category},
                   {"count", op.count},
                   {"seconds", op.seconds},
                   {"flops", op.flops},
                   {"bytes", op.bytes}});
  Json whole{{"facts", facts}, {"devices", summary.devices}, {"spans", trace.spans.size()}};
  whole.update(json_of(summary.all));
  whole["plain_step_seconds"] = summary.plain_step_seconds;
  whole["overhead"] = summary.plain_step_seconds.empty() ? Json(nullptr) : Json(summary.overhead());
  whole["steps"] = std::move(steps);
  whole["by_op"] = std::move(ops);
  return whole;
}

// Puts the longest first.
std::vector<std::pair<std::string, double>> sorted(const std::map<std::string, double>& times) {
  std::vector<std::pair<std::string, double>> rows(times.begin(), times.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

void print_times(const char* title, const std::map<std::string, double>& times,
                 const trace::Summary& summary) {
  const auto steps = static_cast<double>(summary.steps.size());
  fmt::print("\n{:<28} {:>10} {:>7}\n", title, "a step", "share");
  for (const auto& [name, seconds] : sorted(times))
    fmt::print("{:<28} {:>10} {:>5.1f} %\n", name, format_seconds(seconds / steps),
               100 * share(seconds, summary.all));
}

void print_ops(const trace::Summary& summary, std::size_t most) {
  const double all = summary.all.seconds * summary.devices;
  fmt::print("\n{:<40} {:<12} {:>8} {:>10} {:>7} {:>14}\n", "op", "category", "kernels", "seconds", "share",
             "rate");
  for (std::size_t i = 0; i < std::min(most, summary.ops.size()); ++i) {
    const trace::OpTime& op = summary.ops[i];
    fmt::print("{:<40.40} {:<12} {:>8} {:>10} {:>5.1f} % {:>14}\n", op.name, op.category, op.count,
               format_seconds(op.seconds), all > 0 ? 100 * op.seconds / all : 0,
               op.flops > 0 && op.seconds > 0 ? format_rate(static_cast<double>(op.flops) / op.seconds) : "");
  }
  if (most < summary.ops.size()) fmt::print("and {} more\n", summary.ops.size() - most);
}

void print_people(const trace::Trace& trace, const trace::Summary& summary) {
  for (const auto& [name, value] : trace.facts) fmt::print("{:<28} {}\n", name, value);
  fmt::print("{:<28} {} of {} device{}, {} spans\n", "steps", summary.steps.size(), summary.devices,
             summary.devices == 1 ? "" : "s", trace.spans.size());
  for (const trace::StepTime& step : summary.steps)
    fmt::print("  {:<26} {:>10}, {:.1f} % idle or waiting, {:.1f} % infeed\n", step.name,
               format_seconds(step.time.seconds),
               100 * share(step.time.category("idle") + step.time.category("wait"), step.time),
               100 * step.time.infeed_share());
  if (!summary.plain_step_seconds.empty())
    fmt::print("{:<28} {:+.1f} % against {} steps before that were not traced\n", "tracing cost",
               100 * summary.overhead(), summary.plain_step_seconds.size());
}

int summarize(const TraceSummarizeOptions& options) {
  const trace::Trace trace = trace::read_chrome_file(options.file);
  const trace::Summary summary = trace::summarise(trace, options.file.string());
  if (options.json) {
    fmt::print("{}\n", json_text(to_json(trace, summary)));
    return 0;
  }
  print_people(trace, summary);
  print_times("category", summary.all.by_category, summary);
  print_times("no kernel ran, because of", summary.all.idle_causes, summary);
  print_ops(summary, options.ops);
  return 0;
}

}  // namespace

std::function<int()> declare_trace_summarize(Command& command) {
  const auto options = std::make_shared<TraceSummarizeOptions>();
  command.add_option("file", options->file, "A trace: Chrome's JSON, ours or PyTorch's")
      ->required()
      ->type_name("FILE");
  command.add_option("--top", options->ops, "Ops to print; --json has all")
      ->transform(within(record::NumberRange::whole(1, 1'000'000)))
      ->capture_default_str();
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Every moment of a step is in one category. Where several things happen at once, a kernel has it "
      "before a\n"
      "copy or an exchange, and these before a wait. The infeed is waiting for a batch and copying it while "
      "no\n"
      "kernel runs.\n\n"
      "Examples:\n"
      "  trainyard trace summarize traces/lenet.json\n"
      "  trainyard trace summarize traces/lenet.json --top 3");
  return [options, &command] {
    warn_of_idle_options(command, {{options->json, {"--top"}, "--json has all"}});
    return summarize(*options);
  };
}

}  // namespace trainyard::cli
