#include "cli/trace_options.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "cli/outputs.h"
#include "trace/chrome_writer.h"

namespace trainyard::cli {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

train::TracedSteps to_steps(const std::string& text) {
  constexpr std::int64_t kMost = 1000, kMostFirst = std::int64_t{1} << 40;
  train::TracedSteps steps;
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    const auto count = whole_number(text);
    if (!count || *count < 1 || *count > kMost)
      fail(ErrorKind::usage, "--trace-steps '{}': a number of steps from 1 to {}, or a range such as 20..22",
           text, kMost);
    steps.count = *count;
    return steps;
  }
  const auto first = whole_number(std::string_view(text).substr(0, dots)),
             last = whole_number(std::string_view(text).substr(dots + 2));
  if (!first || !last || *first < 0 || *first > kMostFirst || *last < *first || *last - *first >= kMost)
    fail(ErrorKind::usage, "--trace-steps '{}': FIRST..LAST expected, at most {} steps, such as 20..22", text,
         kMost);
  steps.first = *first;
  steps.count = *last - *first + 1;
  return steps;
}

}  // namespace

void add_trace_options(CLI::App& command, TraceOptions& options) {
  auto* file = add_output_file(
      command, "--trace", options.file,
      "Trace some steps into a file that Perfetto and chrome://tracing open; `trace summarize` reads it");
  command
      .add_option("--trace-steps", options.steps,
                  "Which: so many, or those from FIRST to LAST, counted from 0")
      ->type_name("COUNT|FIRST..LAST")
      ->capture_default_str()
      ->needs(file);
}

void check(const TraceOptions& options, const DeploymentOptions& deployment) {
  if (options.file.empty()) return;
  to_steps(options.steps);
  if (deployment.strategy == "independent")
    fail(ErrorKind::usage,
         "--trace: devices that are independent are not traced; --devices 1 is what each does");
  const std::filesystem::path folder = options.file.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    fail(ErrorKind::usage, "--trace '{}': there is no folder '{}'", options.file.string(), folder.string());
}

std::unique_ptr<train::StepTracer> make_tracer(const TraceOptions& options) {
  if (options.file.empty()) return nullptr;
  return std::make_unique<train::StepTracer>(to_steps(options.steps));
}

std::filesystem::path of_part(const std::filesystem::path& file, const char* what, int number) {
  std::filesystem::path own = file;
  own.replace_extension(fmt::format(".{}-{}{}", what, number, file.extension().string()));
  return own;
}

void write_trace(const train::StepTracer& tracer, const std::filesystem::path& file,
                 const RunOptions& asked) {
  if (!tracer.has_steps())
    fail(ErrorKind::usage, "--trace: the run ended before the steps that --trace-steps asks for");
  trace::Trace trace = tracer.noted();
  trace.facts = {{"program", "trainyard " TRAINYARD_VERSION},
                 {"network", asked.network},
                 {"batch", fmt::format("{}", asked.batch)},
                 {"precision", asked.precision},
                 {"optimizer", asked.optimizer},
                 {"device", asked.device}};
  trace::write_chrome_json(trace, file);
}

void keep_trace(const train::StepTracer& tracer, const std::filesystem::path& file, const RunOptions& asked,
                record::RunRecord& run) {
  write_trace(tracer, file, asked);
  run.words["trace"] = file.string();
}

}  // namespace trainyard::cli
