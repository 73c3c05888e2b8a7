#include "base/json.h"
#include "base/text.h"
#include "cli/study.h"

#include "cli/text_table.h"
#include "record/metric.h"
#include "study/cell/settings.h"

namespace trainyard::cli {
namespace {

using Flight = study::RunState::Flight;

struct CellResult {
  const record::Settings* settings = nullptr;
  std::int64_t expected = 0, done = 0, warnings = 0;
  std::vector<record::MeasuredRun> speeds;     // images per second
  std::vector<const record::RunRecord*> runs;  // that were done
};

// Orders cells in the order in which the plan names them first.
std::vector<std::pair<std::string, CellResult>> cells_of(const study::StudyProgress& progress) {
  std::vector<std::pair<std::string, CellResult>> cells;
  std::map<std::string, std::size_t> places;
  for (const study::RunState& state : progress.states) {
    const auto [place, is_new] = places.emplace(state.planned.cell, cells.size());
    if (is_new) cells.push_back({state.planned.cell, {&state.planned.settings}});
    CellResult& cell = cells[place->second].second;
    ++cell.expected;
    if (!state.done()) continue;
    ++cell.done;
    cell.warnings += static_cast<std::int64_t>(state.result->warnings.size());
    if (const auto speed = record::measure(*state.result, record::Metric())) cell.speeds.push_back(*speed);
    cell.runs.push_back(&*state.result);
  }
  return cells;
}

std::string interval_text(const record::CellSummary& speed) {
  return speed.has_interval() ? fmt::format("{:.0f} .. {:.0f}", speed.interval.low, speed.interval.high)
                              : "one run";
}

std::string spread_text(const record::CellSummary& speed) {
  if (!speed.has_interval()) return "";
  std::string text = fmt::format("{:.1f} %", 100 * speed.run_spread);
  if (speed.by_node) text += fmt::format(", {:.1f} % within {} nodes", 100 * speed.node_spread, speed.nodes);
  return text;
}

// Orders numbers by size, everything else by its text.
bool in_order(const record::Settings& a, const record::Settings& b, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto of_a = a.find(name), of_b = b.find(name);
    if (of_a == a.end() || of_b == b.end()) continue;
    const double nothing = std::nan("");
    const double x = record::number_or(of_a->second, nothing), y = record::number_or(of_b->second, nothing);
    if (!std::isnan(x) && !std::isnan(y) ? x != y : of_a->second != of_b->second)
      return !std::isnan(x) && !std::isnan(y) ? x < y
                                              : record::to_text(of_a->second) < record::to_text(of_b->second);
  }
  return false;
}

void print_cells(const study::StudyProgress& progress) {
  auto cells = cells_of(progress);
  std::vector<const record::Settings*> settings;
  for (const auto& [hash, cell] : cells) settings.push_back(cell.settings);
  const std::vector<std::string> names = varying_settings(settings);
  std::stable_sort(cells.begin(), cells.end(), [&](const auto& a, const auto& b) {
    return in_order(*a.second.settings, *b.second.settings, names);
  });
  std::vector<std::string> head = names;
  head.insert(head.end(), {"runs", "images/s", "95 % interval", "run spread"});
  std::vector<const record::TableFigure*> figures;
  for (const record::TableFigure& figure : record::kTableFigures)
    if (std::any_of(cells.begin(), cells.end(), [&](const auto& cell) {
          return record::table_value(cell.second.runs, figure).has_value();
        })) {
      figures.push_back(&figure);
      head.push_back(fmt::format("{} {}", figure.head, figure.note));
    }
  head.emplace_back("warnings");
  TextTable table(head);
  for (const auto& [hash, cell] : cells) {
    std::vector<std::string> row;
    for (const std::string& name : names) row.push_back(study::setting_text(*cell.settings, name));
    row.push_back(fmt::format("{}/{}", cell.done, cell.expected));
    if (cell.speeds.empty()) {
      row.insert(row.end(), {"", "", ""});
    } else {
      const record::CellSummary speed = record::describe_cell(cell.speeds);
      row.insert(row.end(), {fmt::format("{:.0f}", speed.median), interval_text(speed), spread_text(speed)});
    }
    for (const record::TableFigure* figure : figures) {
      const std::optional<double> value = record::table_value(cell.runs, *figure);
      row.push_back(value ? figure->text(*value) : "");
    }
    row.push_back(cell.warnings > 0 ? fmt::format("{}", cell.warnings) : "");
    table.add(std::move(row));
  }
  fmt::print("{}", table.text());
}

void print_node_effects(const study::StudyProgress& progress) {
  std::vector<std::vector<record::MeasuredRun>> cells;
  for (auto& [hash, cell] : cells_of(progress)) cells.push_back(std::move(cell.speeds));
  const std::string text = node_effects_text(record::find_node_effects(cells));
  if (!text.empty()) fmt::print("\n{}\n", text);
}

void print_failures(const study::StudyProgress& progress, const RunLabels& labels) {
  TextTable table({"not done", "run", "why"});
  for (const study::RunState& state : progress.states)
    if (state.result && !state.done() && state.flight == Flight::none)
      table.add({name(state.result->status), labels.with_id(*state.result), state.result->reason});
  if (table.size() > 0) fmt::print("\n{}", table.text());
}

// Noise is counted in the table of cells; what a run was given and left idle makes it another run, and what
// was asked for and could not be done is told.
void print_unused(const study::StudyProgress& progress, const RunLabels& labels) {
  constexpr std::array<std::string_view, 8> kKinds{"nodes",   "devices", "gpus",   "cores",
                                                   "cleanup", "busy",    "clocks", "overload"};
  TextTable table({"warning", "run", "what"});
  for (const study::RunState& state : progress.states) {
    if (!state.result) continue;
    for (const record::Warning& warning : state.result->warnings)
      if (std::find(kKinds.begin(), kKinds.end(), warning.kind) != kKinds.end())
        table.add({warning.kind, labels.with_id(*state.result), warning.text});
  }
  if (table.size() > 0) fmt::print("\n{}", table.text());
}

// An interval takes two runs.
Json speed_json(const std::optional<record::CellSummary>& speed) {
  if (!speed) return nullptr;
  const bool several = speed->has_interval();
  return {{"runs", speed->runs},
          {"nodes", speed->nodes},
          {"median", speed->median},
          {"mean", speed->mean},
          {"low", several ? Json(speed->interval.low) : Json(nullptr)},
          {"high", several ? Json(speed->interval.high) : Json(nullptr)},
          {"run_spread", several ? Json(speed->run_spread) : Json(nullptr)},
          {"within_node_spread", several ? Json(speed->node_spread) : Json(nullptr)},
          {"by_node", speed->by_node}};
}

}  // namespace

std::vector<CellProgress> summarize_cells(const study::StudyProgress& progress) {
  const RunLabels labels = labels_of(progress);
  std::vector<CellProgress> summaries;
  for (const auto& [hash, cell] : cells_of(progress)) {
    CellProgress& summary = summaries.emplace_back(CellProgress{
        hash, labels.of(*cell.settings), *cell.settings, cell.expected, cell.done, cell.warnings, {}});
    if (!cell.speeds.empty()) summary.images_per_second = record::describe_cell(cell.speeds);
  }
  return summaries;
}

RunLabels labels_of(const study::StudyProgress& progress) {
  std::vector<const record::Settings*> settings;
  int replicates = 1;
  for (const study::RunState& state : progress.states) {
    settings.push_back(&state.planned.settings);
    replicates = std::max(replicates, state.planned.replicate);
  }
  return {settings, replicates};
}

std::string node_effects_text(const record::NodeEffects& effects) {
  if (!effects.differ) return "";
  std::vector<std::string> nodes;
  const std::size_t count = effects.nodes.size();
  constexpr std::size_t kEachEnd = 3;  // of many nodes the slowest and the fastest
  for (std::size_t i = 0; i < count; ++i)
    if (i < kEachEnd || i + kEachEnd >= count)
      nodes.push_back(fmt::format("{} {:.2f}", effects.nodes[i].name, effects.nodes[i].ratio));
    else if (i == kEachEnd)
      nodes.push_back("...");
  return fmt::format(
      "{} nodes differ: runs of a cell spread by {:.1f} %, on one node by {:.1f} %; speed over that of a "
      "typical node: {}",
      count, 100 * effects.run_spread, 100 * effects.node_spread, joined(nodes, ", "));
}

void print_progress(const study::StudyProgress& progress) {
  const RunLabels labels = labels_of(progress);
  print_cells(progress);
  print_node_effects(progress);
  print_failures(progress, labels);
  print_unused(progress, labels);
  print_totals(progress);
}

void print_totals(const study::StudyProgress& progress) {
  std::string failed;
  for (const auto& [status, count] : progress.failed()) failed += fmt::format(", {} {}", count, name(status));
  std::string in_flight;
  if (const auto running = progress.in_flight(Flight::running); running > 0)
    in_flight += fmt::format(", {} running", running);
  if (const auto queued = progress.in_flight(Flight::queued); queued > 0)
    in_flight += fmt::format(", {} queued", queued);
  fmt::print("\nstudy {}: {} expected, {} done{}, {} missing\n", progress.study, progress.expected(),
             progress.done(), failed + in_flight, progress.missing());
  if (!progress.other_builds.empty())
    fmt::print("of build {}; {} other build{} kept: study history, --build\n", progress.build,
               progress.other_builds.size(), progress.other_builds.size() == 1 ? " is" : "s are");
}

Json progress_json(const study::StudyProgress& progress) {
  Json failed = Json::object(), runs = Json::array(), cells = Json::array();
  const RunLabels labels = labels_of(progress);
  for (const CellProgress& cell : summarize_cells(progress))
    cells.push_back({{"cell", cell.cell},
                     {"label", cell.label},
                     {"settings", parse_json(record::to_json(cell.settings))},
                     {"expected", cell.expected},
                     {"done", cell.done},
                     {"warnings", cell.warnings},
                     {"images_per_second", speed_json(cell.images_per_second)}});
  for (const auto& [status, count] : progress.failed()) failed[name(status)] = count;
  for (const study::RunState& state : progress.states) {
    Json row = {{"cell", state.planned.cell},
                {"replicate", state.planned.replicate},
                {"label", labels.of(state.planned.settings, state.planned.replicate)},
                {"settings", parse_json(record::to_json(state.planned.settings))},
                {"attempts", state.attempts},
                {"status", state.status_name()}};
    if (state.result) {
      row["run"] = state.result->id;
      row["reason"] = state.result->reason;
      row["images_per_second"] =
          state.result->images_per_second ? Json(*state.result->images_per_second) : Json(nullptr);
    }
    runs.push_back(std::move(row));
  }
  return {{"study", progress.study},
          {"build", progress.build},
          {"other_builds", progress.other_builds},
          {"expected", progress.expected()},
          {"done", progress.done()},
          {"running", progress.in_flight(Flight::running)},
          {"queued", progress.in_flight(Flight::queued)},
          {"missing", progress.missing()},
          {"failed", failed},
          {"cells", cells},
          {"runs", runs}};
}

}  // namespace trainyard::cli
