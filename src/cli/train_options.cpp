#include "cli/train_options.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "networks/zoo/zoo.h"
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
  add_deployment_options(command, options.deployment);
  add_workers_options(command, options.workers);
  add_ps_options(command, options.ps);
  add_input_options(command, options.input);
  add_trace_options(command, options.trace);
  command.add_option(
      "--preprocess", options.preprocess,
      "unit, standardise, lenet, cifarnet, cifar-pad or cifar-flip; of encoded images also inception, "
      "vgg, cifarnet_slim or lenet_slim (default: the network's)");
  command
      .add_option(
          "--feed", options.feed,
          "Who makes the batches of a GPU: device, of images in its memory; host, which sends them ahead "
          "of the steps; auto: device, where the images are in memory and fit into its own")
      ->capture_default_str();
  auto* steps = command.add_option("--steps,-s", options.steps, "Steps, counted from the very first")
                    ->transform(within("steps"));
  command.add_option("--epochs,-e", options.epochs, "Passes over the training images")
      ->transform(within("epochs"))
      ->capture_default_str()
      ->excludes(steps);
  command.add_option("--eval-every", loop.eval_every, "Steps between evaluations (default: only at the end)")
      ->transform(within("eval_every"));
  command.add_flag("--no-eval", options.no_eval, "No evaluation on the test images");
  add_output_folder(command, "--out,-o", options.out,
                    "Folder for checkpoints, TensorBoard events and record.json");
  command.add_option("--checkpoint-every", loop.checkpoint_every, "Steps between checkpoints")
      ->transform(within("checkpoint_every"))
      ->capture_default_str();
  command.add_option("--keep", loop.keep, "Newest checkpoints that stay")
      ->transform(within("keep"))
      ->capture_default_str();
  add_resume_option(command, options.resume, "the newest checkpoint in --out");
  command.add_flag("--overwrite", options.overwrite, "Remove the run that is in --out first");
}

void settle_vocabulary(TrainCommand& options) {
  if (options.input.data.name.starts_with("text:") &&
      networks::find_network(options.run.network).reads_sequences())
    options.run.parameters.try_emplace("vocabulary", std::to_string(data::kByteVocabulary));
}

void check(const TrainCommand& options) {
  want_one_of("--feed", options.feed, train::feed_names());
  if (options.feed == "device" && options.run.device == "cpu")
    fail(ErrorKind::usage, "--feed device: wants a GPU, --device cuda");
  if (const auto inputs = options.run.parameters.find("inputs"); inputs != options.run.parameters.end())
    fail(ErrorKind::usage, "--inputs {}: a network that is trained takes what the data set has",
         inputs->second);
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
  const bool named = options.input.data.name.find(':') != std::string::npos;
  rules.push_back({named, {"--from", "--cache"}, "--data names the path"});
  rules.push_back({!synthetic && !named && !options.input.data.folder.empty(),
                   {"--cache"},
                   "--from says where the files are"});
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
