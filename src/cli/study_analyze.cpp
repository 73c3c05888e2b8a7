#include "base/json.h"
#include "cli/study.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "cli/text_table.h"
#include "record/build.h"
#include "study/cell/settings.h"

namespace trainyard::cli {

namespace {

using analyze::Analysis;

constexpr std::size_t kMostFeatures = 6;  // of order two, the heaviest

std::string percent(double share) { return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : ""; }

void print_points(const Analysis& analysis) {
  std::map<record::Status, std::size_t> counts;
  for (const analyze::Point& point : analysis.points) ++counts[point.status];
  std::string text;
  for (const auto& [status, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, record::name(status));
  fmt::print("{} points: {}\n", analysis.points.size(), text);
}

void print_regression(const analyze::Regression& regression, const std::string& title, std::size_t most) {
  std::vector<std::size_t> order(regression.weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(regression.weights[a]) > std::abs(regression.weights[b]);
  });
  TextTable table({title, "weight"});
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    table.add({regression.features[order[i]], fmt::format("{:.4f}", regression.weights[order[i]])});
  fmt::print("\n{}R2 {:.4f}, mean error {:.4f} deviations, {} points\n", table.text(), regression.r2,
             regression.mean_absolute_error, regression.points);
}

void print_regressions(const Analysis& analysis, const analyze::Part& part) {
  const std::string title = "of " + analysis.metric;
  if (part.first_order) print_regression(*part.first_order, title, part.dimensions.size());
  if (part.second_order) print_regression(*part.second_order, title + ", order 2", kMostFeatures);
  if (!part.power_law) return;
  std::string law;
  for (std::size_t i = 0; i < part.power_law->features.size(); ++i)
    law += fmt::format(" {}^{:.2f}", part.power_law->features[i], part.power_law->coefficients[i]);
  fmt::print("\n{} ~{}: R2 of logarithms {:.3f}, {:.3f} where held out\n", analysis.metric, law,
             part.power_law->r2, part.power_law->cross_validated_r2);
}

// Prints one table over all panels: the best of each cell's.
void print_heat_map(const Analysis& analysis, const analyze::HeatMap& map) {
  std::vector<std::string> head{fmt::format("{} \\ {}", map.row, map.column)};
  for (const double column : map.columns) head.push_back(fmt::format("{}", column));
  TextTable table(head);
  for (const double row : map.rows) {
    std::vector<std::string> cells{fmt::format("{}", row)};
    for (const double column : map.columns) {
      double best = analyze::kUnknown;
      std::string otherwise = ".";
      for (const double panel : map.panels) {
        const analyze::HeatCell* cell = map.find(column, row, panel);
        if (cell == nullptr) continue;
        if (std::isfinite(cell->value) && !(cell->value <= best)) best = cell->value;
        if (cell->points == 0) otherwise = record::name(cell->status);
      }
      cells.push_back(!std::isfinite(best)           ? otherwise
                      : analysis.heat_is_utilisation ? fmt::format("{:.1f}", 100 * best)
                                                     : fmt::format("{:.4g}", best));
    }
    table.add(std::move(cells));
  }
  fmt::print("\n{}, the best of every {}:\n{}",
             analysis.heat_is_utilisation ? "Per cent of the arithmetic roof" : analysis.metric,
             map.panel.empty() ? "cell" : map.panel, table.text());
}

void print_roofs(const Analysis& analysis) {
  if (analysis.best)
    fmt::print("\nbest use of the arithmetic: {} at {}\n", percent(analysis.best->utilisation),
               record::to_text(analysis.best->point->keys));
  if (analysis.steps.empty()) return;
  fmt::print("below the ridge of {:.1f} flops a byte: {} of {} steps, {} of {} kinds of op\n",
             analysis.roofs.ridge(), analyze::count_below_ridge(analysis.steps), analysis.steps.size(),
             analyze::count_below_ridge(analysis.ops), analysis.ops.size());
}

void print_categories(const Analysis& analysis) {
  TextTable table({"op", "time", "of the roof while running", "points"});
  for (const analyze::CategoryShare& share : analysis.categories)
    table.add({share.category, percent(share.time_fraction), percent(share.peak_fraction),
               fmt::format("{}", share.points)});
  if (table.size() > 0) fmt::print("\n{}", table.text());
}

void print_limits(const Analysis& analysis) {
  TextTable table({"limited by", "launch", "bandwidth", "compute", "host", "model's error"});
  for (const analyze::LimitedGroup& group : analysis.limits) {
    auto counts = analyze::count_limits({&group, 1});
    std::vector<std::string> row{group.name};
    for (const analyze::Limit limit :
         {analyze::Limit::launch, analyze::Limit::bandwidth, analyze::Limit::compute, analyze::Limit::host})
      row.push_back(fmt::format("{}", counts[limit]));
    row.push_back(group.fitted > 0 ? percent(group.mean_relative_error) : "no model");
    table.add(std::move(row));
  }
  if (table.size() > 0) fmt::print("\n{}", table.text());
}

std::vector<std::string> ratio_row(const std::string& name, const analyze::RatioSummary& summary) {
  return {name,
          fmt::format("{}", summary.points),
          fmt::format("{:.3f}", summary.mean),
          fmt::format("{:.3f}", summary.median),
          fmt::format("{:.3f}", summary.geometric_mean),
          fmt::format("{:.3f}", summary.min),
          fmt::format("{:.3f}", summary.max),
          percent(summary.below_one)};
}

}  // namespace

void print_analysis(const Analysis& analysis) {
  print_points(analysis);
  for (const analyze::Part& part : analysis.parts) {
    if (!part.name.empty()) fmt::print("\n{}: {} points\n", part.name, part.points);
    print_regressions(analysis, part);
    if (part.heat_map) print_heat_map(analysis, *part.heat_map);
  }
  print_roofs(analysis);
  print_categories(analysis);
  print_limits(analysis);
}

void print_comparison(const analyze::SystemComparison& comparison, const record::Comparison& verdicts) {
  TextTable table({comparison.metric + " of B over A", "points", "mean", "median", "geometric mean", "min",
                   "max", "below 1"});
  table.add(ratio_row("all", comparison.all));
  for (const auto& [dimension, values] : comparison.by_dimension)
    for (const auto& [value, summary] : values)
      table.add(ratio_row(fmt::format("{} {}", dimension, value), summary));
  fmt::print("\n{}", table.text());
  if (comparison.weights)
    print_regression(*comparison.weights, "of the ratio", comparison.weights->weights.size());
  if (comparison.faster)
    fmt::print("\nB is ahead in {} of the points; a logistic fit tells where with {} held out\n",
               percent(comparison.faster->base_rate), percent(comparison.faster->cross_validated_accuracy));
  fmt::print("\nwith intervals: {} faster, {} slower, {} same, {} unclear (trainyard compare lists them)\n",
             verdicts.count(record::Outcome::better), verdicts.count(record::Outcome::worse),
             verdicts.count(record::Outcome::same), verdicts.count(record::Outcome::unclear));
}

namespace {

using Runs = std::vector<record::RunRecord>;

struct StudyAnalyzeOptions {
  std::filesystem::path study, other;
  std::vector<std::string> across;
  analyze::AnalysisOptions analysis;
  std::string speed = "images_per_second", build;
  bool json = false;
};

// Reads the folder itself, or the folder of a study's file.
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
  if (key.size() < text.size()) wanted = split_at_commas(text.substr(key.size() + 1));
  for (const record::RunRecord& run : runs)
    if (const std::string value = study::setting_text(record::envelope(run), key);
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
    const std::string value = study::setting_text(record::envelope(run), key);
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

Json nodes_json(const record::NodeEffects& effects) {
  Json nodes = Json::array();
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
  Json json = options.json ? analysis_json(analysis) : Json();
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
  if (options.json) fmt::print("{}\n", json_text(json));
  return 0;
}

}  // namespace

std::function<int()> declare_study_analyze(Command& command) {
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
