#include "cli/ensemble.h"

#include <cstdio>

#include "analyze/ensemble.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "cli/train.h"
#include "meter/mpstat.h"

namespace trainyard::cli {

namespace {

struct EnsembleRow {
  const char *name, *summary;
  std::function<int()> (*declare)(Command&);
  bool started_by_us = false;
};

constexpr EnsembleRow kEnsembleCommands[] = {
    {"run", "Train all members from one stream of samples, and let them vote", declare_ensemble_run},
    {"peak", "How many images a second members get, by design and their number", declare_ensemble_peak},
    {"demand", "How many images a second networks take, and one preprocessor gives", declare_ensemble_demand},
    {"tables", "CPU that sharing saves, speed-up by cores, and the tables of the SC'18 scripts",
     declare_ensemble_tables},
    {"script", "A job script for Slurm or PBS", declare_ensemble_script},
    {"member", "One of the processes that `run` starts", declare_ensemble_member, true},
    {"preprocess", "The process that makes samples for members of one machine", declare_ensemble_preprocess,
     true},
};

}  // namespace

std::function<int()> declare_ensemble(Command& command) {
  command.require_subcommand(1);
  const auto runs = std::make_shared<std::map<const Command*, std::function<int()>>>();
  for (const EnsembleRow& row : kEnsembleCommands) {
    Command* below = command.add_subcommand(row.name, row.summary);
    (*runs)[below] = row.declare(*below);
    if (row.started_by_us) below->group("");  // not listed
  }
  command.footer(
      "An ensemble is many networks that are trained from one stream of preprocessed samples; a YAML file "
      "names\n"
      "them (docs/formats/ensemble.md).\n\n"
      "Examples:\n"
      "  trainyard data pack synthetic --to photos --images 200 --classes 5\n"
      "  trainyard ensemble run studies/ensemble-photos.yaml");
  return [runs, &command] { return runs->at(command.chosen())(); };
}

namespace {

struct TablesOptions {
  std::string table = "reduction";
  std::vector<std::filesystem::path> files;
};

const std::vector<std::string> kTables{"reduction", "speedup",    "analyze_output",
                                       "gen_peak",  "modify_csv", "cpu_usage"};

// Every core's %usr over time, as the script of that name has it, and the integrals behind it.
void print_cpu_usage(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file);
  meter::MpstatLog log;
  try {
    log = meter::parse_mpstat({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const Error& error) {
    fail(error.kind(), "'{}': {}", file.string(), error.with_options());
  }
  for (const meter::MpstatLog::Block& block : log.blocks) {
    fmt::print("{:g}", block.seconds);
    for (const double user : block.user) fmt::print(",{:g}", user);
    fmt::print("\n");
  }
  fmt::print(
      stderr,
      "{}: {} blocks of {} cores, {} dropped; {:.1f} percent-seconds of %usr, {:.1f} of all but %idle\n",
      file.string(), log.blocks.size(), log.cores(), log.dropped,
      meter::integrate_use(log, meter::CpuPart::user), meter::integrate_use(log, meter::CpuPart::busy));
}

void print_reductions(const std::vector<analyze::EnsembleRun>& runs) {
  fmt::print("{:<24} {:>7} {:>7} {:>9} {:>7} {:>6}\n", "design", "members", "t", "measured", "model", "off");
  for (const analyze::CpuReduction& one : analyze::cpu_reductions(runs))
    fmt::print("{:<24} {:>7} {:>7.4f} {:>9.2f} {:>7.2f} {:>5.1f}%\n", one.design, one.members, one.t,
               one.measured, one.model, 100 * (one.measured / one.model - 1));
}

void print_speedups(const std::vector<analyze::EnsembleRun>& runs) {
  fmt::print("{:<24} {:>7} {:>5} {:>8}\n", "design", "members", "cores", "speed-up");
  for (const analyze::CoreSpeedup& one : analyze::core_speedups(runs))
    fmt::print("{:<24} {:>7} {:>5} {:>8.2f}\n", one.design, one.members, one.cores, one.speedup);
}

int print_table(const TablesOptions& options) {
  want_one_of("as", options.table, kTables);
  if (options.table == "cpu_usage") {
    for (const std::filesystem::path& file : options.files) print_cpu_usage(file);
    return 0;
  }
  std::vector<record::RunRecord> records;
  for (const std::filesystem::path& file : options.files) records.push_back(record::read_run_record(file));
  const std::vector<analyze::EnsembleRun> runs = analyze::ensemble_runs(records);
  if (runs.empty()) fail(ErrorKind::usage, "none of these is a record of an ensemble");
  if (options.table == "reduction") print_reductions(runs);
  if (options.table == "speedup") print_speedups(runs);
  if (options.table == "analyze_output") fmt::print("{}", analyze::analyze_output_csv(runs));
  if (options.table == "gen_peak") fmt::print("{}", analyze::gen_peak_csv(runs));
  if (options.table == "modify_csv") fmt::print("{}", analyze::modify_csv(runs));
  return 0;
}

}  // namespace

std::function<int()> declare_ensemble_tables(Command& command) {
  const auto options = std::make_shared<TablesOptions>();
  command
      .add_option("files", options->files,
                  "Records that `ensemble run --record` wrote; logs of mpstat for cpu_usage")
      ->required()
      ->type_name("FILE");
  command
      .add_option(
          "--as", options->table,
          "reduction (of CPU, against R(n) = n (1 + t) / (1 + n t)), speedup (by cores), or a table of the\n"
          "SC'18 scripts: analyze_output, gen_peak, modify_csv, cpu_usage")
      ->capture_default_str();
  command.footer(
      "Designs are compared with the baseline of as many members on as many cores.\n\n"
      "Examples:\n"
      "  trainyard ensemble tables --as analyze_output base.json\n"
      "  trainyard ensemble tables --as cpu_usage cpu_util.log");
  return [options] { return print_table(*options); };
}

void add_ensemble_options(Command& command, ensemble::EnsembleOptions& options) {
  add_settings(command, "ensemble", options, "ensemble");
  command.get_option("--file")->required();
  add_resume_option(command, options.resume, "the checkpoints in --out");
  command.add_flag("--overwrite", options.overwrite, "Begin anew where --out holds a run already");
  add_output_file(command, "--record", options.record, "File for the record, as --json prints it");
  command.add_flag("--json", options.json, "One JSON object on standard output");
  command.add_flag("--quiet,-q", options.quiet, "No progress");
}

void add_ensemble_part(Command& command, ensemble::EnsemblePart& part) {
  command.add_option("--member", part.member, "Its number, where it reads in place")
      ->transform(within(record::NumberRange::whole(0, 1'000)));
  command.add_option("--stream", part.stream, "Where it reads the samples");
  command.add_option("--first-position", part.first_position, "Where a preprocessor begins")
      ->transform(within(record::NumberRange::whole(0)));
  command.add_option("--announce", part.announce, "File for a preprocessor's address");
  command.add_option("--left-out", part.left_out, "Numbers of members that take no part")
      ->transform(within(record::NumberRange::whole(0, 1'000)))
      ->delimiter(',');
  command.add_option("--results", part.results, "Folder for what each process leaves");
}

namespace {

double cpu_seconds(const record::RunRecord& run) {
  return run.figure_or("process_user_seconds", 0) + run.figure_or("process_system_seconds", 0);
}

}  // namespace

void print_ensemble(const ensemble::EnsembleParts& parts, const record::RunRecord& summary) {
  fmt::print("{:<8} {:<24} {:>10} {:>10} {:>10} {:>9} {:>9}\n", "member", "network", "images/s", "images",
             "waiting", "CPU", "accuracy");
  const auto row = [](const std::string& number, const record::RunRecord& run) {
    const double accuracy = ensemble::accuracy_of(run);
    fmt::print("{:<8} {:<24} {:>10} {:>10.0f} {:>10} {:>9} {:>9}\n", number, run.words.at("member"),
               run.images_per_second ? fmt::format("{:.1f}", *run.images_per_second) : "-",
               run.figure_or("images_consumed", run.figure_or("images_made", 0)),
               format_seconds(run.figure_or("input_wait_seconds", 0)), format_seconds(cpu_seconds(run)),
               std::isfinite(accuracy) ? fmt::format("{:.4f}", accuracy) : "-");
  };
  for (std::size_t i = 0; i < parts.members.size(); ++i) {
    if (parts.members[i])
      row(std::to_string(i), *parts.members[i]);
    else
      fmt::print("{:<8} lost\n", i);
  }
  if (parts.preprocessor) row("-", *parts.preprocessor);
  fmt::print("{} members by {}: {:.1f} images/s each, {:.1f} in all; {} CPU, {} an image\n",
             parts.members.size(), record::to_text(summary.asked.at("design")),
             summary.images_per_second.value_or(0), summary.figure_or("total_images_per_second", 0),
             format_seconds(summary.figure_or("cpu_seconds", 0)),
             format_seconds(summary.figure_or("cpu_seconds_per_image", 0)));
  if (const double joules = summary.figure_or("energy_joules", 0); joules > 0)
    fmt::print(
        "{:.0f} J, {:.0f} W; {:.4f} J an image{}\n", joules, summary.figure_or("power_watts", 0),
        summary.figure_or("energy_joules_per_image", 0),
        summary.figure_or("idle_power_watts", 0) > 0
            ? fmt::format(", {:.4f} above idle", summary.figure_or("energy_above_idle_joules_per_image", 0))
            : "");
  if (const double skipped = summary.figure_or("images_skipped", 0); skipped > 0)
    fmt::print("{:.0f} damaged images were left out\n", skipped);
  if (parts.vote)
    fmt::print("vote: {:.4f} by mean probability, {:.4f} by majority; the best member {:.4f}\n",
               parts.vote->mean_probability, parts.vote->majority,
               summary.figure_or("best_member_accuracy", 0));
}

}  // namespace trainyard::cli
