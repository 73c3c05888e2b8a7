#include "cli/train_options.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "trace/chrome_format.h"

namespace trainyard::cli {

void add_resume_option(CLI::App& command, ResumeOption& resume, const std::string& from) {
  // A flag, so that it never takes the word behind it; `--resume` alone is "true".
  command
      .add_flag("--resume", resume.value,
                "Go on from " + from + "; --resume=auto: or begin, where there is none yet")
      ->check([](const std::string& given) {
        const bool known = given == "true" || given == "auto";
        return known ? std::string() : "'" + given + "' given, nothing or =auto expected";
      });
}

void add_train_options(CLI::App& command, TrainCommand& options) {
  train::TrainOptions& loop = options.train;
  add_run_options(command, options.run);
  add_output_options(command, options.run);
  add_deployment_options(command, "train", options.deployment);
  add_workers_options(command, options.workers);
  add_ps_options(command, options.ps);
  add_input_options(command, options.input);
  add_trace_options(command, options.trace);
  const auto add = [&](const char* name, auto& value) { return add_setting(command, "train", name, value); };
  add("preprocess", options.preprocess);
  add("feed", options.feed);
  CLI::Option* steps = add("steps", options.steps);
  add("epochs", options.epochs)->excludes(steps);
  add("eval_every", loop.eval_every);
  add("no_eval", options.no_eval);
  const record::SettingInfo& out = record::setting_of("out", "train");
  add_output_folder(command, option_names(out), options.out, help_of(out));
  add("checkpoint_every", loop.checkpoint_every);
  add("keep", loop.keep);
  add_resume_option(command, options.resume, "the newest checkpoint in --out");
  command.add_flag("--overwrite", options.overwrite, "Remove the run that is in --out first");
}

void check(const TrainCommand& options) {
  want_choice("train", "feed", options.feed);
  if (options.feed == "device" && options.run.device == "cpu")
    fail(ErrorKind::usage, "--feed device: wants a GPU, --device cuda");
  const networks::NetworkInfo& network = networks::find_network(options.run.network);
  if (network.generator != nullptr)
    for (const networks::generator::Parameter& parameter : network.generator->parameters)
      if (const auto given = options.run.parameters.find(parameter.name);
          parameter.is_of_data && given != options.run.parameters.end())
        fail(ErrorKind::usage, "--{} {}: a network that is trained takes what the data set has", given->first,
             given->second);
  check(options.trace, options.deployment);
  if (options.resume.is_given() && options.overwrite)
    fail(ErrorKind::usage, "--resume and --overwrite exclude each other");
  if (options.out.empty() && (options.resume.is_given() || options.overwrite))
    fail(ErrorKind::usage, "{} wants --out", options.resume.is_given() ? "--resume" : "--overwrite");
}

std::vector<Idle> idle_options(const TrainCommand& options) {
  std::vector<Idle> rules = idle_options(options.run);
  const bool synthetic = options.input.data.name == "synthetic";
  rules.push_back({!with_servers(options.workers),
                   {"--servers", "--wire", "--wire-layout", "--transport", "--min-workers", "--restarts",
                    "--lease", "--patience", "--address"},
                   "there are no parameter servers; --workers N --mode MODE has them"});
  rules.push_back({options.ps.hosts.empty(), {"--remote-shell"}, "all processes are here, without --hosts"});
  rules.push_back({options.deployment.devices == 1, {"--scaling"}, "there is one device"});
  rules.push_back({options.out.empty(), {"--checkpoint-every", "--keep"}, "nothing is saved without --out"});
  rules.push_back({options.no_eval, {"--eval-every"}, "--no-eval evaluates nothing"});
  rules.push_back({synthetic, {"--from", "--cache"}, "--data synthetic has no files"});
  rules.push_back(
      {!synthetic && !options.input.data.folder.empty(), {"--cache"}, "--from says where the files are"});
  return rules;
}

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
  const record::SettingInfo& trace = record::setting_of("trace", "train");
  CLI::Option* file = add_output_file(command, option_names(trace), options.file, help_of(trace));
  add_setting(command, "train", "trace_steps", options.steps)->needs(file);
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
