#include "cli/compare.h"

#include <fstream>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "cli/study.h"
#include "record/build.h"
#include "store/store.h"
#include "study/cell/settings.h"

namespace trainyard::cli {
namespace {

using Runs = std::vector<record::RunRecord>;

struct CompareOptions {
  std::filesystem::path a, b;
  std::string build;  // of A
  std::vector<std::string> across;
  record::VerdictOptions verdict;
  std::string metric = record::kQuietSpeed;
  std::optional<double> accuracy;
  std::filesystem::path gate;
  bool update = false;
  bool json = false;
};

// A setting to compare across, and the values to compare, when they were given.
struct Across {
  std::string name;
  std::vector<std::string> values;
};

Across parse_across(const std::string& text) {
  Across across{text.substr(0, text.find('=')), {}};
  if (across.name.size() < text.size()) across.values = split_at_commas(text.substr(across.name.size() + 1));
  const bool empty =
      std::any_of(across.values.begin(), across.values.end(), [](const auto& v) { return v.empty(); });
  if (across.name.empty() || empty || across.values.size() == 1)
    fail(ErrorKind::usage, "--across '{}': KEY or KEY=VALUE,VALUE expected, such as threads=1,2", text);
  return across;
}

// A study's folder, its store, or the record of one run: every attempt that speaks for its run, of all
// builds.
Runs read_runs(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) return record::that_speak(study::runs_of(existing_folder(path)));
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail(ErrorKind::usage, "compare: there is no '{}': a study's folder, its store or a record is expected",
         path.string());
  std::string start(15, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start == "SQLite format 3" || path.filename() == store::Store::file_name())
    return record::that_speak(store::Store(path, store::Store::Access::read).runs());
  return {record::read_run_record(path)};
}

bool is_across_builds(const std::string& across) { return across == "build" || across.starts_with("build="); }

// Returns those of one build, which the name of the side then says where there are others: builds are never
// pooled.
Runs of_one_build(const Runs& runs, const std::string& wanted, std::string& side) {
  const std::vector<std::string> builds = record::builds_of(runs);
  const std::string build = wanted.empty() ? record::newest_build(runs) : record::find_build(wanted, builds);
  if (builds.size() > 1 || !wanted.empty()) side += fmt::format(" (build {})", build);
  Runs chosen;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(chosen),
               [&](const record::RunRecord& run) { return record::build_of(run) == build; });
  return chosen;
}

std::string value_in(const record::RunRecord& run, const std::string& name) {
  // Seeds and lengths are no part of an envelope, and can still be what somebody compares.
  const std::string compared = study::setting_text(record::envelope(run), name);
  return compared.empty() ? study::setting_text(run.asked, name) : compared;
}

// Values of a setting in the order of their first run. Error (usage) when no run has it.
std::vector<std::string> values_of(const Runs& runs, const std::string& name) {
  if (name == "build") return record::builds_of(runs);
  std::vector<std::string> values, names;
  for (const record::RunRecord& run : runs) {
    for (const auto& [known, value] : record::envelope(run)) names.push_back(known);
    const std::string value = value_in(run, name);
    if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  }
  if (values.empty())
    fail(ErrorKind::usage, "--across {}: no run has that setting{}", name, did_you_mean(name, names));
  std::stable_sort(values.begin(), values.end(), [](const std::string& x, const std::string& y) {
    return record::number_or(record::to_value(x), 0) < record::number_or(record::to_value(y), 0);
  });
  return values;
}

// Runs that have one of the values numbered from `first` to before `end`. Error (usage) where no run has one.
Runs with_values(const Runs& runs, const Across& across, std::size_t first, std::size_t end) {
  Runs chosen;
  for (std::size_t i = first; i < end; ++i) {
    const std::size_t before = chosen.size();
    for (const record::RunRecord& run : runs)
      if (value_in(run, across.name) == across.values[i]) chosen.push_back(run);
    if (chosen.size() == before)
      fail(ErrorKind::usage, "--across {}: no run with {}; there are {}", across.name, across.values[i],
           joined(values_of(runs, across.name), ", "));
  }
  return chosen;
}

// Compares inside one study: the first values of the settings against all others.
ComparedSides sides_in_one(const CompareOptions& options) {
  if (options.across.empty())
    fail(ErrorKind::usage, "compare: with one study, --across KEY says what to compare in it");
  Runs runs = read_runs(options.a);
  std::string build;
  if (std::none_of(options.across.begin(), options.across.end(), is_across_builds))
    runs = of_one_build(runs, options.build, build);
  ComparedSides sides{"", "", runs, runs, {}};
  for (const std::string& text : options.across) {
    Across across = parse_across(text);
    if (across.values.empty()) across.values = values_of(runs, across.name);
    if (across.name == "build")
      for (std::string& value : across.values) value = record::find_build(value, record::builds_of(runs));
    if (across.values.size() < 2)
      fail(ErrorKind::usage, "--across {}: every run has {}, there is nothing to compare", across.name,
           across.values.front());
    const char* comma = sides.name_a.empty() ? "" : ", ";
    sides.name_a += fmt::format("{}{} {}", comma, across.name, across.values.front());
    sides.name_b += fmt::format("{}{} {}", comma, across.name,
                                joined(std::span(across.values.begin() + 1, across.values.end()), ", "));
    sides.runs_a = with_values(sides.runs_a, across, 0, 1);
    sides.runs_b = with_values(sides.runs_b, across, 1, across.values.size());
    sides.across.insert(across.name);
  }
  sides.name_a += build;
  sides.name_b += build;
  return sides;
}

ComparedSides sides_in_two(const CompareOptions& options) {
  ComparedSides sides{options.a.string(), options.b.string(), {}, {}, {}};
  sides.runs_a = of_one_build(read_runs(options.a), options.build, sides.name_a);
  sides.runs_b = of_one_build(read_runs(options.b), "", sides.name_b);
  for (const std::string& text : options.across) {
    const Across across = parse_across(text);
    sides.across.insert(across.name);
    if (across.values.empty()) continue;
    if (across.values.size() != 2)
      fail(ErrorKind::usage, "--across '{}': two values expected, one of each side", text);
    sides.runs_a = with_values(sides.runs_a, across, 0, 1);
    sides.runs_b = with_values(sides.runs_b, across, 1, 2);
  }
  return sides;
}

int compare_with_references(const CompareOptions& options) {
  if (!options.b.empty())
    fail(ErrorKind::usage, "compare: '{}' given beside --gate, which has the other side", options.b.string());
  if (options.update) check_output_file(options.gate);
  GateOptions gate{options.gate,     options.a.string(), options.metric,
                   options.accuracy, options.verdict,    options.json};
  const Runs runs = of_one_build(read_runs(options.a), options.build, gate.results);
  return options.update ? update_gate(gate, runs) : pass_gate(gate, runs);
}

int compare(const CompareOptions& options) {
  if (!options.gate.empty()) return compare_with_references(options);
  const ComparedSides sides = options.b.empty() ? sides_in_one(options) : sides_in_two(options);
  Runs all = sides.runs_a;
  all.insert(all.end(), sides.runs_b.begin(), sides.runs_b.end());
  const record::Metric metric = record::find_metric(options.metric, options.accuracy, all);
  const record::Comparison comparison =
      record::compare_cells(sides.runs_a, sides.runs_b, sides.across, metric, options.verdict);
  if (comparison.cells.empty())
    fail(ErrorKind::config, "compare: {}", why_nothing(sides, comparison, metric));
  if (options.json)
    fmt::print("{}\n", json_text(comparison_json(sides, comparison, metric, options.verdict)));
  else
    print_comparison(sides, comparison, metric, options.verdict);
  return comparison.count(record::Outcome::worse) > 0 ? 3 : 0;
}

}  // namespace

std::function<int()> declare_compare(Command& command) {
  const auto options = std::make_shared<CompareOptions>();
  command.add_option("a", options->a, "Before: a study's folder, its store, or a run's record")
      ->required()
      ->type_name("A");
  command.add_option("b", options->b, "After: likewise; may be left out with --across")->type_name("B");
  command
      .add_option(
          "--across", options->across,
          "Compare runs that differ in this setting, too; within one study, its first value against the "
          "others; may be given several times")
      ->type_name("KEY[=VALUE,VALUE]");
  command
      .add_option("--build", options->build,
                  "The build of A, or the beginning of its name (default: that of the last run; of B always)")
      ->type_name("BUILD");
  command
      .add_option(
          "--metric", options->metric,
          "What to compare: the speed of the faster steps, which a busy machine leaves alone; "
          "images_per_second, in which stalls count; p95_step_seconds, seconds_to_accuracy, or any figure of "
          "the records, such as peak_memory_bytes")
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option("--accuracy", options->accuracy,
                  "Test accuracy, 0 to 1, that runs must reach: a cell that misses it is worse, however fast")
      ->transform(within(record::NumberRange::real(0, 1)))
      ->type_name("SHARE");
  command
      .add_option("--minimum-effect", options->verdict.minimum_effect, "Smaller differences do not matter")
      ->transform(within(record::NumberRange::real(0, 10)))
      ->capture_default_str();
  command
      .add_option("--run-spread", options->verdict.assumed_run_spread,
                  "Spread from run to run to assume where each side has one run only")
      ->transform(within(record::NumberRange::real(0, 10)))
      ->capture_default_str();
  Option* gate =
      command
          .add_option("--gate", options->gate,
                      "Compare A with the references that this file has for machines like those of its runs")
          ->excludes("--across")
          ->type_name("FILE");
  // The file is an output with this flag only, so that a gate can be read-only.
  command.add_flag("--update", options->update, "Make these runs the references in the file of --gate")
      ->needs(gate);
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Cells are compared when all their settings agree. Verdicts are on B: SAME, FASTER, SLOWER, or "
      "UNCLEAR\n"
      "when there are too few runs to tell; BETTER or WORSE of metrics that are no time. The exit code is 3 "
      "when any "
      "cell is slower or worse.\n"
      "With --gate, B is these runs and A the references of their kind of machine. The exit code is 2 when "
      "a\n"
      "cell that has a reference has no good run, 1 when there is no reference for the machine.\n\n"
      "Examples:\n"
      "  trainyard compare results/smoke --gate references.json --update\n"
      "  trainyard compare results/smoke --across batch=4,16 --json");
  return [options] { return compare(*options); };
}

}  // namespace trainyard::cli
