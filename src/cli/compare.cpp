#include "cli/compare.h"

#include <algorithm>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nearest_name.h"
#include "cli/compare_report.h"
#include "cli/study_options.h"
#include "store/store.h"
#include "study/progress.h"

namespace trainyard::cli {
namespace {

using Runs = std::vector<record::RunRecord>;

struct CompareOptions {
  std::filesystem::path a, b;
  std::vector<std::string> across;
  record::VerdictOptions verdict;
  bool json = false;
};

// A setting to compare across, and the values to compare, when they were given.
struct Across {
  std::string name;
  std::vector<std::string> values;
};

Across parse_across(const std::string& text) {
  Across across{text.substr(0, text.find('=')), {}};
  if (across.name.size() < text.size())
    across.values = CLI::detail::split(text.substr(across.name.size() + 1), ',');
  const bool empty =
      std::any_of(across.values.begin(), across.values.end(), [](const auto& v) { return v.empty(); });
  if (across.name.empty() || empty || across.values.size() == 1)
    fail(ErrorKind::usage, "--across '{}': KEY or KEY=VALUE,VALUE expected, such as threads=1,2", text);
  return across;
}

// A study's folder, its store, or the record of one run.
Runs read_runs(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) return study::runs_of(existing_folder(path));
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail(ErrorKind::usage, "compare: there is no '{}': a study's folder, its store or a record is expected",
         path.string());
  std::string start(15, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start == "SQLite format 3" || path.filename() == store::Store::file_name())
    return store::Store(path, store::Store::Access::read).runs();
  return {record::read_run_record(path)};
}

std::string value_in(const record::RunRecord& run, const std::string& name) {
  return setting_text(record::envelope(run), name);
}

// Values of a setting in the order of their first run. Error (usage) when no run has it.
std::vector<std::string> values_of(const Runs& runs, const std::string& name) {
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

Runs with_value(const Runs& runs, const Across& across, std::size_t index) {
  Runs chosen;
  for (const record::RunRecord& run : runs)
    if (value_in(run, across.name) == across.values[index]) chosen.push_back(run);
  if (chosen.empty())
    fail(ErrorKind::usage, "--across {}: no run with {}; there are {}", across.name, across.values[index],
         fmt::join(values_of(runs, across.name), ", "));
  return chosen;
}

// Inside one study: the first value against every other one.
ComparedSides sides_in_one(const CompareOptions& options) {
  if (options.across.size() != 1)
    fail(ErrorKind::usage, "compare: with one study, --across KEY says what to compare in it");
  const Runs runs = read_runs(options.a);
  Across across = parse_across(options.across.front());
  if (across.values.empty()) across.values = values_of(runs, across.name);
  if (across.values.size() < 2)
    fail(ErrorKind::usage, "--across {}: every run has {}, there is nothing to compare", across.name,
         across.values.front());
  ComparedSides sides{
      fmt::format("{} {}", across.name, across.values.front()),
      fmt::format("{} {}", across.name, fmt::join(across.values.begin() + 1, across.values.end(), ", ")),
      with_value(runs, across, 0),
      {},
      {across.name}};
  for (std::size_t i = 1; i < across.values.size(); ++i)
    for (record::RunRecord& run : with_value(runs, across, i)) sides.runs_b.push_back(std::move(run));
  return sides;
}

ComparedSides sides_in_two(const CompareOptions& options) {
  ComparedSides sides{options.a.string(), options.b.string(), read_runs(options.a), read_runs(options.b), {}};
  for (const std::string& text : options.across) {
    const Across across = parse_across(text);
    sides.across.insert(across.name);
    if (across.values.empty()) continue;
    if (across.values.size() != 2)
      fail(ErrorKind::usage, "--across '{}': two values expected, one of each side", text);
    sides.runs_a = with_value(sides.runs_a, across, 0);
    sides.runs_b = with_value(sides.runs_b, across, 1);
  }
  return sides;
}

int compare(const CompareOptions& options) {
  const ComparedSides sides = options.b.empty() ? sides_in_one(options) : sides_in_two(options);
  const record::Comparison comparison =
      record::compare_cells(sides.runs_a, sides.runs_b, sides.across, options.verdict);
  if (comparison.cells.empty()) fail(ErrorKind::config, "compare: {}", why_nothing(sides, comparison));
  if (options.json)
    fmt::print("{}\n", comparison_json(sides, comparison, options.verdict).dump());
  else
    print_comparison(sides, comparison, options.verdict);
  return comparison.count(record::Outcome::slower) > 0 ? 3 : 0;
}

}  // namespace

std::function<int()> declare_compare(CLI::App& command) {
  const auto options = std::make_shared<CompareOptions>();
  command.add_option("a", options->a, "Before: a study's folder, its store, or a run's record")
      ->required()
      ->type_name("A");
  command.add_option("b", options->b, "After: likewise; may be left out with --across")->type_name("B");
  command
      .add_option("--across", options->across,
                  "Compare runs that differ in this setting, too; within one study, its values")
      ->type_name("KEY[=VALUE,VALUE]");
  command
      .add_option("--minimum-effect", options->verdict.minimum_effect, "Smaller differences do not matter")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command
      .add_option("--run-spread", options->verdict.assumed_run_spread,
                  "Spread from run to run to assume where each side has one run only")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Cells are compared when all their settings agree. Verdicts are on B: SAME, FASTER, SLOWER, or "
      "UNCLEAR\n"
      "when there are too few runs to tell. The exit code is 3 when any cell is slower.\n\n"
      "Examples:\n"
      "  trainyard compare results/smoke results/smoke\n"
      "  trainyard compare results/smoke --across batch=4,16 --json");
  return [options] { return compare(*options); };
}

}  // namespace trainyard::cli
