#include "cli/profile.h"

#include <ctime>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/page_files.h"
#include "cli/progress_bar.h"
#include "cli/text_table.h"
#include "cli/train.h"
#include "report/page.h"
#include "run/run_record.h"

namespace trainyard::cli {

namespace {

struct ProfileCommandOptions {
  std::vector<std::string> command;
  std::filesystem::path from, record, trace;
  double hz = 50, seed_hz = 2.88, gpu_memory_mib = 8192;
  PageFiles page;
  bool legacy = false, no_gpus = false, json = false, quiet = false;
};

void check_profile(const ProfileCommandOptions& options) {
  if (options.command.empty() == options.from.empty())
    fail(ErrorKind::usage, "profile: wants either a command after -- or a trace after --from");
  if (!options.from.empty() && !(options.record.empty() && options.trace.empty()))
    fail(ErrorKind::usage, "--from: the trace is there, and a record is of a command that runs");
}

ReducedTrace reduce(const record::ResourceTrace& trace, const ProfileCommandOptions& options) {
  ReducedTrace reduced;
  reduced.signals = analyze::signals_of(trace);
  for (const analyze::Signal& signal : reduced.signals)
    reduced.profiles.push_back(analyze::find_bursts(signal));
  if (options.legacy) reduced.legacy = analyze::legacy_shares(trace, options.gpu_memory_mib * 1024 * 1024);
  return reduced;
}

WrittenFiles write_profile_page(const ProfileCommandOptions& options, const report::ProfileView& view) {
  if (!options.page.wanted()) return {};
  const std::vector<report::Chart> charts = {report::make_profile_chart(view.profile)};
  return write_page(options.page, charts, {.cache = {}, .progress = terminal_progress(options.json)},
                    [&](const auto& libraries) {
                      return report::make_profile_page(view, charts, libraries,
                                                       static_cast<double>(std::time(nullptr)));
                    });
}

int reduce_file(const ProfileCommandOptions& options) {
  const record::ResourceTrace trace = record::read_resource_trace(options.from, options.seed_hz);
  const ReducedTrace reduced = reduce(trace, options);
  const Json profile = json_of(reduced);
  const WrittenFiles written = write_profile_page(
      options,
      {options.from.filename().string(), json_text(profile), trace.seconds.back(), trace.seconds.size()});
  if (options.json) {
    Json json{{"trace", options.from.string()},
              {"seconds", trace.seconds.back()},
              {"samples", trace.seconds.size()},
              {"profile", profile}};
    describe_written(written, json);
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  fmt::print("{:<20} {} samples in {}\n", options.from.filename().string(), trace.seconds.size(),
             format_seconds(trace.seconds.back()));
  print_reduced(reduced);
  print_written(written, options.from.filename().string());
  return 0;
}

// Returns the path that --trace gives, or one beside the record: profile.json -> profile.trace.csv.
std::filesystem::path trace_path(const ProfileCommandOptions& options) {
  if (!options.trace.empty() || options.record.empty()) return options.trace;
  std::filesystem::path beside = options.record;
  return beside.replace_extension(".trace.csv");
}

class LiveProfile {
 public:
  explicit LiveProfile(bool quiet) : line_(quiet, LiveLine::Cursor::at_begin) {}

  bool visible() const { return line_.visible(); }
  void show(const meter::ProfileState& now) {
    if (!line_.due()) return;
    const double seconds = now.seconds - shown_.seconds;
    std::string text = fmt::format("profile {}  {:.2f} cores  {}  {} process{}", format_seconds(now.seconds),
                                   (now.cpu_seconds - shown_.cpu_seconds) / seconds,
                                   format_bytes(std::llround(now.resident_bytes)), now.processes,
                                   now.processes == 1 ? "" : "es");
    if (std::isfinite(now.gpu_busy_fraction))
      text += fmt::format("  GPU {:.0f} %", 100 * now.gpu_busy_fraction);
    if (std::isfinite(now.gpu_power_watts)) text += fmt::format(" {:.0f} W", now.gpu_power_watts);
    if (now.command_ended) text += "  (the command has ended, what it started goes on)";
    line_.draw(std::move(text));
    shown_ = now;
  }

 private:
  LiveLine line_;
  meter::ProfileState shown_;
};

meter::CommandProfile measure(const ProfileCommandOptions& options) {
  LiveProfile live(options.quiet);
  std::function<void(const meter::ProfileState&)> watch;
  if (live.visible()) watch = [&](const meter::ProfileState& now) { live.show(now); };
  meter::CommandProfile profile = meter::profile_command({
      .command = options.command,
      .hz = options.hz,
      .gpus = !options.no_gpus,
      .output_to_stderr = options.json,
      .watch = std::move(watch),
  });
  if (profile.start_errno != 0)
    fail(ErrorKind::config, "profile: cannot start '{}': {}", options.command.front(),
         std::strerror(profile.start_errno));
  return profile;
}

void judge_end(const meter::CommandProfile& profile, record::RunRecord& run) {
  run.exit_code = profile.exit_code;
  const int signal = profile.exit_code - 128;
  const std::string how = signal > 0 ? fmt::format("signal {} ({})", signal, ::strsignal(signal))
                                     : fmt::format("exit code {}", profile.exit_code);
  if (profile.interrupted) {
    run.status = record::Status::interrupted;
    run.reason = fmt::format("interrupted, {}", how);
  } else if (profile.exit_code != 0) {
    run.status = signal > 0 ? record::Status::crash : record::Status::failed;
    run.reason = how;
  }
}

record::RunRecord record_of_profile(const ProfileCommandOptions& options, const run::RunStart& start,
                                    const meter::CommandProfile& profile) {
  record::RunRecord run = run::new_record("profile", start);
  run.asked = {{"program", joined(options.command, " ")}, {"hz", options.hz}};
  judge_end(profile, run);
  const double cpu_seconds = profile.user_seconds + profile.system_seconds;
  run.figures = {{"seconds", profile.wall_seconds},
                 {"cpu_seconds", cpu_seconds},
                 {"user_cpu_seconds", profile.user_seconds},
                 {"system_cpu_seconds", profile.system_seconds},
                 {"cores_used", cpu_seconds / profile.wall_seconds},
                 {"peak_memory_bytes", profile.peak_resident_bytes},
                 {"samples", static_cast<double>(profile.trace.seconds.size())},
                 {"missed_samples", static_cast<double>(profile.missed_samples)},
                 {"sampler_cpu_seconds", profile.sampler_cpu_seconds},
                 {"sampler_cores", profile.sampler_cpu_seconds / profile.wall_seconds},
                 {"sampler_proc_cores", profile.sampler_kernel_seconds / profile.wall_seconds},
                 {"sampler_nvml_cores", profile.sampler_driver_seconds / profile.wall_seconds}};
  add_trace_figures(profile.trace, run);
  return run;
}

int profile_this(const ProfileCommandOptions& options) {
  const run::RunStart start;
  if (!options.record.empty()) check_output_file(trace_path(options));
  const meter::CommandProfile profile = measure(options);
  record::RunRecord run = record_of_profile(options, start, profile);
  const ReducedTrace reduced = reduce(profile.trace, options);
  run.details["profile"] = json_text(json_of(reduced));
  if (const std::filesystem::path path = trace_path(options); !path.empty()) {
    record::write_resource_trace(profile.trace, path);
    run.words["trace"] = path.filename().string();
  }
  if (!options.record.empty()) record::write_run_record(run, options.record);
  const std::string title = joined(options.command, " ");
  const WrittenFiles written = write_profile_page(
      options, {title, run.details.at("profile"), profile.wall_seconds, profile.trace.seconds.size()});
  if (options.json) {
    Json json = parse_json(record::to_json(run));
    describe_written(written, json);
    fmt::print("{}\n", json_text(json));
  } else {
    print_profile(run, profile);
    print_reduced(reduced);
    print_written(written, title);
  }
  if (profile.interrupted) return kInterrupted;
  if (profile.exit_code == 0) return 0;
  fmt::print(stderr, "trainyard: profile: '{}' ended with {}\n", options.command.front(), run.reason);
  return kRunFailed;
}

}  // namespace

std::function<int()> declare_profile(Command& command) {
  const auto options = std::make_shared<ProfileCommandOptions>();
  command.add_option("command", options->command, "Any program with its arguments, after --")
      ->type_name("WORD");
  command.add_option("--hz", options->hz, "Samples in a second, 1 to 100")
      ->transform(within(record::NumberRange::real(1, 100)))
      ->capture_default_str();
  add_output_file(command, "--record", options->record,
                  "Write the run record to this file, the trace beside it");
  add_output_file(command, "--trace", options->trace, "Write the trace there instead");
  add_output_file(command, "--report", options->page.page,
                  "Write a page of charts and tables (HTML, needs no network)");
  declare_chart_files(command, options->page);
  command
      .add_option("--from", options->from,
                  "Run nothing: reduce this trace, ours or that of GPUAlloc's sampler")
      ->type_name("FILE");
  command.add_flag("--legacy", options->legacy,
                   "Also GPUAlloc's burst, idle and peak: shares of samples by k-means");
  command.add_option("--seed-hz", options->seed_hz, "Of GPUAlloc's traces, which have no time stamps")
      ->transform(within(record::NumberRange::above(0, 1e6)))
      ->capture_default_str();
  command
      .add_option("--gpu-memory", options->gpu_memory_mib,
                  "MiB of the GPU, for --legacy, where the trace does not say it")
      ->transform(within(record::NumberRange::above(0, 1e9)))
      ->capture_default_str();
  command.add_flag("--no-gpus", options->no_gpus, "Do not ask the GPUs");
  command.add_flag("--json", options->json,
                   "One JSON object on standard output; what the command prints goes to standard error");
  command.add_flag("--quiet,-q", options->quiet, "No live line");
  command.footer(
      "Measures the command and all processes that it starts until the last of them has ended. Network and "
      "GPUs are\n"
      "those of the machine, whoever uses them. A command that fails gives exit code 2; Ctrl-C is passed on, "
      "and "
      "what\nwas measured is kept.\n\n"
      "Examples:\n"
      "  trainyard profile --record lenet.json -- trainyard bench --network lenet --batch 8 --steps 20\n"
      "  trainyard profile --from traces/titanx.csv --legacy --gpu-memory 12288");
  return [options, &command] {
    check_profile(*options);
    warn_of_idle_options(command,
                         {{!options->from.empty(), {"--hz", "--no-gpus"}, "--from measures nothing"},
                          {options->from.empty(), {"--seed-hz"}, "it is for traces that --from reads"},
                          {!options->legacy, {"--gpu-memory"}, "it is for --legacy"},
                          {options->page.charts.empty(), {"--format"}, "no files without --charts"}});
    return options->from.empty() ? profile_this(*options) : reduce_file(*options);
  };
}

namespace {

// With the unit that the signal's name ends with.
std::string signal_text(const std::string& name, double value) {
  using record::Quantity;
  const record::Unit unit = record::unit_in_name(name);
  if (unit.quantity == Quantity::fraction) return fmt::format("{:.1f} %", 100 * value);
  if (unit.quantity == Quantity::bytes)
    return format_bytes(std::llround(value)) + (unit.is_speed() ? "/s" : "");
  if (unit.quantity == Quantity::watts) return fmt::format("{:.1f} W", value);
  if (unit.quantity == Quantity::megahertz) return fmt::format("{:.0f} MHz", value);
  return fmt::format("{:.2f}", value);
}

std::string words_of_signal(const std::string& name) {
  using record::Quantity;
  std::string words = name;  // of cores: their values are printed without a unit
  const Quantity quantity = record::unit_in_name(name).quantity;
  if (quantity != Quantity::cores) words = record::without_unit(name);
  if (quantity == Quantity::megahertz) words += " clock";
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

void print_legacy(const std::vector<analyze::LegacyShares>& legacy) {
  TextTable table({"legacy column", "burst", "idle", "peak"});
  for (const analyze::LegacyShares& shares : legacy)
    table.add({shares.column, fmt::format("{:.6f}", shares.burst), fmt::format("{:.6f}", shares.idle),
               fmt::format("{:.6f}", shares.peak)});
  fmt::print("\n{}", table.text());
}

}  // namespace

void print_reduced(const ReducedTrace& reduced) {
  TextTable table({"signal", "mean", "p95", "max", "in bursts", "burst", "idle", "bursts", "mean burst",
                   "mean idle", "period", "above 90 %"});
  for (std::size_t i = 0; i < reduced.signals.size(); ++i) {
    const analyze::BurstProfile& profile = reduced.profiles[i];
    const std::string& name = reduced.signals[i].name;
    if (profile.most == 0) continue;
    const auto value = [&](double of) { return signal_text(name, of); };
    const bool bursts = profile.has_bursts();
    table.add({words_of_signal(name), value(profile.mean), value(profile.p95), value(profile.most),
               bursts ? share_text(profile.burst_share()) : "-", bursts ? value(profile.burst.mean) : "-",
               bursts ? value(profile.idle.mean) : "-", bursts ? fmt::format("{}", profile.burst.count) : "-",
               bursts ? format_seconds(profile.burst.mean_seconds) : "-",
               bursts ? format_seconds(profile.idle.mean_seconds) : "-",
               profile.period ? format_seconds(profile.period->seconds) : "-",
               profile.peak_share ? share_text(*profile.peak_share) : "-"});
  }
  fmt::print("\n{}", table.text());
  if (!reduced.legacy.empty()) print_legacy(reduced.legacy);
}

void print_profile(const record::RunRecord& run, const meter::CommandProfile& profile) {
  const auto row = [](const char* label, const std::string& value) {
    fmt::print("{:<20} {}\n", label, value);
  };
  const auto bytes = [&](record::NumberName name) {
    return format_bytes(std::llround(run.figure_or(name, 0)));
  };
  std::string command = record::to_text(run.asked.at("program"));
  std::replace(command.begin(), command.end(), '\n', ' ');
  row("command", command);
  row("ended", fmt::format("{}, after {}", run.reason.empty() ? "well" : run.reason,
                           format_seconds(profile.wall_seconds)));
  row("cores used", fmt::format("{:.2f} of {:g}: {} user, {} system", run.figure_or("cores_used", 0),
                                run.figure_or("cores_allowed", 0), format_seconds(profile.user_seconds),
                                format_seconds(profile.system_seconds)));
  row("peak memory",
      fmt::format("{}{}, {:.0f} process{}", bytes("peak_memory_bytes"),
                  run.figures.contains("peak_proportional_bytes")
                      ? fmt::format(" (shared pages counted once: {})", bytes("peak_proportional_bytes"))
                      : "",
                  run.figure_or("peak_processes", 0), run.figure_or("peak_processes", 0) == 1 ? "" : "es"));
  if (run.figures.contains("disk_read_bytes"))
    row("disk", fmt::format("{} read, {} written", bytes("disk_read_bytes"), bytes("disk_written_bytes")));
  if (run.figures.contains("network_sent_bytes"))
    row("network of all",
        fmt::format("{} sent, {} received, of each {} by loopback", bytes("network_sent_bytes"),
                    bytes("network_received_bytes"), bytes("loopback_bytes")));
  if (run.figures.contains("gpu_energy_joules"))
    row("energy of GPUs", fmt::format("{:.1f} J", run.figure_or("gpu_energy_joules", 0)));
  row("samples",
      fmt::format("{:.0f}, {} missed; measuring took {:.2f} % of a core ({:.2f} % /proc, {:.2f} % NVML)",
                  run.figure_or("samples", 0), profile.missed_samples,
                  100 * run.figure_or("sampler_cores", 0), 100 * run.figure_or("sampler_proc_cores", 0),
                  100 * run.figure_or("sampler_nvml_cores", 0)));
}

}  // namespace trainyard::cli
