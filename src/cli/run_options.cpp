#include "cli/run_options.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/outputs.h"
#include "cli/predict.h"
#include "cli/progress_bar.h"
#include "launch/ps_part.h"
#include "networks/zoo/network_files.h"
#include "study/cell/cost.h"

namespace trainyard::cli {

void add_run_options(Command& command, run::RunOptions& options, bool network_first) {
  add_settings(command, "train", options, network_first ? "network" : "");
}

void add_output_options(Command& command, run::RunOptions& options) {
  add_output_file(command, "--record", options.record, "File for the run's record, as --json prints it");
  command.add_flag("--json", options.json, "One JSON object on standard output");
  command.add_flag("--quiet,-q", options.quiet, "No progress bar");
}

void add_mode_option(Command& command, run::RunOptions& options) {
  add_setting(command, "explain", "mode", options.mode);
}

std::vector<Idle> idle_options(const run::RunOptions& options) {
  const std::string schedule = "--schedule " + options.schedule;
  const bool infers = options.mode != "train",
             decays = options.schedule == "step" || options.schedule == "exponential";
  const bool has_momentum =
      options.optimizer == "momentum" || options.optimizer == "nesterov" || options.optimizer == "rmsprop";
  std::vector<Idle> rules{{options.device.is_cpu(), {"--tuning"}, "it is for GPUs"},
                          {infers,
                           {"--optimizer", "--lr", "--schedule", "--decay-steps", "--decay-factor",
                            "--final-lr", "--warmup-lr-steps", "--momentum", "--weight-decay",
                            "--decay-matrices-only", "--clip-norm", "--ema", "--label-smoothing", "--freeze"},
                           "--mode " + options.mode + " updates nothing"},
                          {options.weights.empty() && !networks::imported_file(options.network),
                           {"--new-head"},
                           "all layers start from random numbers, without --weights"},
                          {options.mode == "decode", {"--weights"}, "--mode decode times random weights"}};
  if (infers) return rules;
  rules.push_back({options.schedule == "constant", {"--decay-steps"}, schedule + " decays nothing"});
  rules.push_back({!decays, {"--decay-factor"}, schedule + " has none"});
  rules.push_back({options.schedule != "cosine", {"--final-lr"}, schedule + " has none"});
  rules.push_back(
      {options.optimizer != "adamw" || options.weight_decay == 0,
       {"--decay-matrices-only"},
       "it is about --weight-decay of --optimizer adamw; other optimizers have it on matrices alone"});
  rules.push_back({!has_momentum, {"--momentum"}, "--optimizer " + options.optimizer + " has none"});
  return rules;
}

void print_input(const record::RunRecord& run) {
  const auto bytes = [&](record::NumberName name) {
    return format_bytes(static_cast<std::int64_t>(run.figure_or(name, 0)));
  };
  const auto seconds = [&](record::NumberName name) { return format_seconds(run.figure_or(name, 0)); };
  if (run.figures.contains("bytes_read"))
    fmt::print("{:<20} {} in {}, batch by batch\n", "read", bytes("bytes_read"), seconds("read_seconds"));
  if (run.figures.contains("staging_bytes"))
    fmt::print("{:<20} {} to '{}' ({}) in {} ({} verifying), {:.0f} % came from the page cache\n", "staged",
               bytes("staging_bytes"), run.words.at("staging_folder"), run.words.at("staging_filesystem"),
               seconds("staging_seconds"), seconds("staging_verify_seconds"),
               100 * run.figure_or("staging_source_cached_fraction", 0));
}

void add_part_options(Command& command, launch::PsPart& part, bool server) {
  command.add_option("--join", part.coordinator, "Where the job's coordinator listens")->type_name("ADDRESS");
  command.add_option("--number", part.number, "Which one of them")
      ->transform(within(record::NumberRange::whole(0, 1'000'000)))
      ->capture_default_str();
  command.add_option("--job-key", part.key,
                     "File with the job's key, readable by its owner alone; -: standard input");
  if (server) {
    command.add_option("--listen", part.listen, "tcp:HOST:PORT (port 0: any), unix:PATH or shm:PATH");
    command.add_option("--advertise", part.advertise, "Host under which others reach it");
    command.add_option("--elements", part.elements, "Numbers that all servers keep together")
        ->transform(within(record::NumberRange::whole(0)));
    command.add_option("--parameters", part.parameters, "Of these, parameters")
        ->transform(within(record::NumberRange::whole(0)));
    command.add_option("--batches", part.batches, "To be used in all")
        ->transform(within(record::NumberRange::whole(0)));
    command.add_option("--run", part.run, "Which run this is: what another left is not taken over")
        ->transform(within(record::NumberRange::whole(0, std::numeric_limits<std::uint64_t>::max())));
  } else {
    command.add_option("--layout", part.layout, "native or canonical");
    command.add_option("--fingerprint", part.fingerprint, "Of the job's layout")
        ->transform(within(record::NumberRange::whole(0, std::numeric_limits<std::uint32_t>::max())));
    command.add_option("--share", part.share, "I/K: its share of this machine's cores");
    command.add_option_function(
        "--on-device", [&part](const std::string& given) { part.device = DeviceSpec::parse(given); },
        "In place of --device");
    command.add_option("--with-backend", part.backend, "In place of --backend");
  }
}

void add_resume_option(Command& command, run::ResumeOption& resume, const std::string& from) {
  // A flag, so that it never takes the word behind it; `--resume` alone is "true".
  command
      .add_flag("--resume", resume.value,
                "Go on from " + from + "; --resume=auto: or begin, where there is none yet")
      ->check({[](const std::string& given) {
                 const bool known = given == "true" || given == "auto";
                 return known ? std::string() : "'" + given + "' given, nothing or =auto expected";
               },
               ""});
}

void add_train_options(Command& command, run::TrainCommand& options) {
  add_run_options(command, options.run);
  add_output_options(command, options.run);
  add_settings(command, "train", options);
  const auto option = [&](const char* name) { return command.get_option(name); };
  option("--workers")->excludes(option("--devices"))->excludes(option("--strategy"));
  option("--epochs")->excludes(option("--steps"));
  option("--trace-steps")->needs(option("--trace"));
  add_resume_option(command, options.resume, "the newest checkpoint in --out");
  command.add_flag("--overwrite", options.overwrite, "Remove the run that is in --out first");
}

std::vector<Idle> idle_options(const run::TrainCommand& options) {
  std::vector<Idle> rules = idle_options(options.run);
  const std::string& data = options.input.data.name;
  const std::vector<std::string>& known = data::file_dataset_names();
  const bool in_cache = std::find(known.begin(), known.end(), data) != known.end();
  rules.push_back({!with_servers(options.workers),
                   {"--servers", "--wire", "--wire-layout", "--transport", "--min-workers", "--restarts",
                    "--lease", "--patience", "--address"},
                   "there are no parameter servers; --workers N --mode MODE has them"});
  rules.push_back({options.ps.hosts.empty(), {"--remote-shell"}, "all processes are here, without --hosts"});
  rules.push_back({options.deployment.devices == 1, {"--scaling"}, "there is one device"});
  rules.push_back({options.out.empty(), {"--checkpoint-every", "--keep"}, "nothing is saved without --out"});
  rules.push_back({options.no_eval, {"--eval-every"}, "--no-eval evaluates nothing"});
  rules.push_back(
      {!in_cache,
       {"--from", "--cache"},
       data.find(':') == std::string::npos ? "--data synthetic has no files" : "--data says all"});
  rules.push_back(
      {in_cache && !options.input.data.folder.empty(), {"--cache"}, "--from says where the files are"});
  return rules;
}

namespace {

std::string device_to_ask(const CostOptions& options, const std::vector<predict::DeviceSheet>& seen) {
  if (!options.device.empty()) return options.device;
  if (seen.size() == 1) return seen.front().name;
  std::vector<std::string> names;
  for (const predict::DeviceSheet& device : seen) names.push_back(device.name);
  fail(ErrorKind::usage, "--device is required: '{}' is a model of {}", options.model.string(),
       names.empty() ? "no device in particular" : joined(names, ", "));
}

}  // namespace

void add_cost_options(Command& command, CostOptions& options) {
  command
      .add_option("--model", options.model,
                  "What `predict fit` wrote, for estimates of runs that were never measured (default, with "
                  "--device: the models that the program carries)")
      ->type_name("MODEL");
  command.add_option(
      "--device", options.device,
      "Where the model shall think the runs are: H200, or `here` for this machine (default: its "
      "only device)");
  command.add_option("--devices", options.devices, "Further devices (YAML)")->type_name("FILE");
}

std::unique_ptr<study::CostModel> read_cost_model(const CostOptions& options) {
  if (options.model.empty() && options.device.empty()) {
    if (!options.devices.empty())
      fail(ErrorKind::usage, "--devices wants --device, the one of them to ask for");
    return nullptr;
  }
  auto model = std::make_unique<study::CostModel>();
  model->file = options.model.empty() ? "the models that the program carries" : options.model.string();
  model->predictor = read_model(options.model);
  const std::vector<predict::DeviceSheet> seen = model->predictor->devices();
  model->device =
      device_named(device_to_ask(options, seen), devices_to_choose_from(seen, options.devices), true);
  return model;
}

}  // namespace trainyard::cli
