#include "run/train_options.h"

#include <charconv>

#include "meter/provenance.h"
#include "networks/zoo/network_files.h"
#include "trace/chrome_format.h"

namespace trainyard::run {

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
      fail(ErrorKind::usage, "{} '{}': a number of steps from 1 to {}, or a range such as 20..22",
           Setting{"trace_steps"}, text, kMost);
    steps.count = *count;
    return steps;
  }
  const auto first = whole_number(std::string_view(text).substr(0, dots)),
             last = whole_number(std::string_view(text).substr(dots + 2));
  if (!first || !last || *first < 0 || *first > kMostFirst || *last < *first || *last - *first >= kMost)
    fail(ErrorKind::usage, "{} '{}': FIRST..LAST expected, at most {} steps, such as 20..22",
         Setting{"trace_steps"}, text, kMost);
  steps.first = *first;
  steps.count = *last - *first + 1;
  return steps;
}

}  // namespace

record::Settings asked_of(const TrainCommand& options) {
  record::Settings asked = asked_of(options.run);
  add_asked("train", options, asked);
  if (!with_servers(options.workers)) asked.erase("servers");
  return asked;
}

void check(const TrainCommand& options) {
  want_choice("train", "feed", options.feed);
  if (options.feed == "device" && options.run.device.is_cpu())
    fail(ErrorKind::usage, "{} device: wants a GPU, {} cuda", Setting{"feed"}, Setting{"device"});
  const networks::NetworkInfo& network = networks::find_network(options.run.network);
  if (network.generator != nullptr)
    for (const networks::generator::Parameter& parameter : network.generator->parameters)
      if (const auto given = options.run.parameters.find(parameter.name);
          parameter.is_of_data && given != options.run.parameters.end())
        fail(ErrorKind::usage, "{} {}: a network that is trained takes what the data set has",
             Setting{given->first}, given->second);
  check(options.trace, options.deployment);
  check_by_host(options.feed, options.deployment);
  if (options.resume.is_given() && options.overwrite)
    fail(ErrorKind::usage, "{} and {} exclude each other", Setting{"resume"}, Setting{"overwrite"});
  if (options.out.empty() && (options.resume.is_given() || options.overwrite))
    fail(ErrorKind::usage, "{} wants {}", Setting{options.resume.is_given() ? "resume" : "overwrite"},
         Setting{"out"});
}

void settle_vocabulary(TrainCommand& options) {
  if (options.run.parameters.contains("vocabulary") || networks::imported_file(options.run.network) ||
      !networks::find_network(options.run.network).reads_sequences())
    return;
  try {
    const std::int64_t masks =
        networks::find_network(options.run.network, options.run.parameters).masked ? 1 : 0;
    if (const auto vocabulary = data::vocabulary_of(options.input.data.name))
      options.run.parameters["vocabulary"] = std::to_string(*vocabulary + masks);
  } catch (const Error&) {
    // The run says so when it loads the data, and leaves a record of its failure.
  }
}

void check_by_host(const std::string& feed, const DeploymentOptions& deployment) {
  if (feed == "device" && deployment.accumulate > 1)
    fail(ErrorKind::usage, "{} device: batches that accumulate come from the host ({} {})", Setting{"feed"},
         Setting{"accumulate"}, deployment.accumulate);
}

void check(const TraceOptions& options, const DeploymentOptions& deployment) {
  if (options.file.empty()) return;
  to_steps(options.steps);
  if (deployment.strategy == "independent")
    fail(ErrorKind::usage, "{}: devices that are independent are not traced; {} 1 is what each does",
         Setting{"trace"}, Setting{"devices"});
  const std::filesystem::path folder = options.file.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    fail(ErrorKind::usage, "{} '{}': there is no folder '{}'", Setting{"trace"}, options.file.string(),
         folder.string());
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
    fail(ErrorKind::usage, "{}: the run ended before the steps that {} asks for", Setting{"trace"},
         Setting{"trace_steps"});
  trace::Trace trace = tracer.noted();
  trace.facts = {{"program", fmt::format("trainyard {}", meter::build_info().version)},
                 {"network", asked.network},
                 {"batch", fmt::format("{}", asked.batch)},
                 {"precision", asked.precision},
                 {"optimizer", asked.optimizer},
                 {"device", asked.device.to_string()}};
  trace::write_chrome_json(trace, file);
}

void keep_trace(const train::StepTracer& tracer, const std::filesystem::path& file, const RunOptions& asked,
                record::RunRecord& run) {
  write_trace(tracer, file, asked);
  run.words["trace"] = file.string();
}

}  // namespace trainyard::run
