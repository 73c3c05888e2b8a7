#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nearest_name.h"
#include "cli/analysis_report.h"
#include "cli/option_checks.h"
#include "cli/study_commands.h"
#include "cli/study_options.h"
#include "cli/study_results.h"
#include "record/attempts.h"
#include "record/comparison.h"
#include "study/progress.h"

namespace trainyard::cli {
namespace {

using Runs = std::vector<record::RunRecord>;

struct StudyAnalyzeOptions {
  std::filesystem::path study, other;
  std::vector<std::string> across;
  analyze::AnalysisOptions analysis;
  std::string speed = "images_per_second", build;
  bool json = false;
};

// The folder itself, or the folder of a study's file.
Runs runs_of_study(const std::filesystem::path& path, const std::string& build) {
  const bool is_file = path.extension() == ".yaml" || path.extension() == ".yml";
  const study::Folder folder = existing_folder(is_file ? folder_of(read_study(path, {}), {}).path : path);
  return record::that_speak(study::runs_of_build(folder, build));
}

// Two systems in one study: the runs with each value of one setting.
struct Sides {
  Runs a, b;
};

Sides split(const Runs& runs, const std::string& text) {
  const std::string key = text.substr(0, text.find('='));
  std::vector<std::string> wanted, there_are;
  if (key.size() < text.size()) wanted = CLI::detail::split(text.substr(key.size() + 1), ',');
  for (const record::RunRecord& run : runs)
    if (const std::string value = setting_text(record::envelope(run), key);
        !value.empty() && std::find(there_are.begin(), there_are.end(), value) == there_are.end())
      there_are.push_back(value);
  if (wanted.empty()) wanted = there_are;
  for (const std::string& value : wanted)
    if (std::find(there_are.begin(), there_are.end(), value) == there_are.end())
      fail(ErrorKind::usage, "--across '{}': no run has {} '{}'{}", text, key, value,
           did_you_mean(value, there_are));
  if (wanted.size() != 2)
    fail(ErrorKind::usage, "--across '{}': two values of {} are compared, there are {}; KEY=A,B names two",
         text, key, wanted.size());
  Sides sides;
  for (const record::RunRecord& run : runs) {
    const std::string value = setting_text(record::envelope(run), key);
    if (value == wanted[0]) sides.a.push_back(run);
    if (value == wanted[1]) sides.b.push_back(run);
  }
  return sides;
}

// Only the runs of points that are on both sides: what has no partner is not asked for one.
Runs runs_at(const Runs& runs, const std::set<record::Settings>& points) {
  Runs kept;
  for (const record::RunRecord& run : runs)
    if (points.contains(analyze::keys_of(run))) kept.push_back(run);
  return kept;
}

record::Comparison verdicts_of(const Sides& sides, const analyze::SystemComparison& comparison) {
  std::set<record::Settings> in_a, in_b;
  for (const analyze::JoinedPoint& point : comparison.joined) {
    in_a.insert(point.a->keys);
    in_b.insert(point.b->keys);
  }
  return record::compare_cells(runs_at(sides.a, in_a), runs_at(sides.b, in_b), comparison.across,
                               record::Metric());
}

record::NodeEffects node_effects_of(const Runs& runs) {
  // The study's own cells, as `study status` has them; of loose runs their envelopes.
  std::map<std::string, std::vector<record::MeasuredRun>> cells;
  for (const record::RunRecord& run : runs)
    if (const auto speed = record::measure(run, record::Metric()))
      cells[run.cell.empty() ? record::to_text(record::envelope(run)) : run.cell].push_back(*speed);
  std::vector<std::vector<record::MeasuredRun>> runs_of_cells;
  for (auto& [cell, of_cell] : cells) runs_of_cells.push_back(std::move(of_cell));
  return record::find_node_effects(runs_of_cells);
}

nlohmann::ordered_json nodes_json(const record::NodeEffects& effects) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const auto& node : effects.nodes)
    nodes.push_back({{"node", node.name}, {"runs", node.runs}, {"ratio", node.ratio}});
  return {{"differ", effects.differ},
          {"run_spread", effects.run_spread},
          {"within_node_spread", effects.node_spread},
          {"nodes", nodes}};
}

std::set<std::string> names_of(const std::vector<std::string>& across) {
  std::set<std::string> names;
  for (const std::string& text : across) names.insert(text.substr(0, text.find('=')));
  return names;
}

int analyze_study(const StudyAnalyzeOptions& options) {
  Runs runs = runs_of_study(options.study, options.build);
  Sides sides;
  const bool compares = !options.other.empty() || !options.across.empty();
  if (!options.other.empty())
    sides = {runs, runs_of_study(options.other, "")};
  else if (compares)
    sides = split(runs, options.across.front());
  const analyze::Analysis analysis = analyze::analyse(analyze::make_points(runs), options.analysis);
  if (analysis.points.empty())
    fail(ErrorKind::config, "analyze: the study in '{}' has no run", options.study.string());
  nlohmann::ordered_json json = options.json ? analysis_json(analysis) : nlohmann::ordered_json();
  const record::NodeEffects nodes = node_effects_of(runs);
  if (options.json)
    json["nodes"] = nodes_json(nodes);
  else
    print_analysis(analysis);
  if (const std::string text = node_effects_text(nodes); !options.json && !text.empty())
    fmt::print("\n{}\n", text);
  if (compares) {
    const std::vector<analyze::Point> a = analyze::make_points(sides.a), b = analyze::make_points(sides.b);
    const analyze::SystemComparison comparison =
        analyze::compare_systems(a, b, options.speed, names_of(options.across));
    const record::Comparison verdicts = verdicts_of(sides, comparison);
    if (options.json)
      json["comparison"] = comparison_json(comparison, verdicts);
    else
      print_comparison(comparison, verdicts);
  }
  if (options.json) fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return 0;
}

}  // namespace

std::function<int()> declare_study_analyze(CLI::App& command) {
  const auto options = std::make_shared<StudyAnalyzeOptions>();
  command.add_option("study", options->study, "Folder of the study, or its file")
      ->required()
      ->type_name("PATH");
  command.add_option("other", options->other, "A second study (B), set against the first (A)")
      ->type_name("PATH");
  command
      .add_option("--across", options->across,
                  "Settings in which A and B may differ; within one study KEY or KEY=A,B names the two sides")
      ->type_name("KEY[=A,B]");
  command.add_option("--metric", options->analysis.metric,
                     "Of regressions (default: flops_per_second, peak_fraction or images_per_second)");
  command
      .add_option("--dimensions", options->analysis.dimensions,
                  "Settings to explain it by (default: all that vary)")
      ->delimiter(',')
      ->type_name("KEY,...");
  command
      .add_option("--peak-flops", options->analysis.roofs.flops_per_second,
                  "Arithmetic roof in flops a second (default: as measured beside the runs)")
      ->transform(within(record::NumberRange::above(0)));
  command
      .add_option("--peak-bytes", options->analysis.roofs.bytes_per_second,
                  "Bandwidth roof in bytes a second (default: as measured beside the runs)")
      ->transform(within(record::NumberRange::above(0)));
  command.add_option("--ratio", options->speed, "Metric that B and A are compared by")->capture_default_str();
  add_build_option(command, options->build);
  command.add_flag("--json", options->json, "Print one JSON object (docs/formats/analysis.md)");
  command.footer(
      "Says how the metric depends on the settings, where the utilisation is high, which roof each step is\n"
      "under and what limits it: starting kernels, bandwidth, arithmetic or the host's input. Imported and\n"
      "own runs are treated alike.\n\n"
      "Examples:\n"
      "  trainyard study analyze results/paradnn --peak-flops 125e12 --peak-bytes 900e9\n"
      "  trainyard study analyze results/paradnn --metric published_flops_per_second --dimensions "
      "layers,width,batch");
  return [options] { return analyze_study(*options); };
}

}  // namespace trainyard::cli
