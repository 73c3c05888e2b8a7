#include "report/study_view.h"

#include "record/build.h"
#include "record/cell_summary.h"
#include "report/naming.h"
#include "report/text.h"

namespace trainyard::report {
namespace {

using record::RunRecord;
using record::Value;

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

const Value kAbsent = std::string("-");

// Returns the sort key of a number; absent values come first.
double rank(const Value& value) { return record::number_or(value, -std::numeric_limits<double>::infinity()); }

// Cells in the order of the plan, then those that only runs know; and the replicates expected of each.
class CellList {
 public:
  CellView& of(const std::string& id, const record::Settings& settings) {
    const auto [found, added] = position_.try_emplace(id, cells.size());
    if (added) {
      CellView cell;
      cell.id = id;
      cell.settings = settings;
      cells.push_back(std::move(cell));
      attempts.emplace_back();
    }
    return cells[found->second];
  }
  std::vector<const RunRecord*>& attempts_at(const CellView& cell, int replicate) {
    return attempts[position_.at(cell.id)][replicate];
  }

  std::vector<CellView> cells;
  std::vector<std::map<int, std::vector<const RunRecord*>>> attempts;  // by cell and replicate

 private:
  std::map<std::string, std::size_t> position_;
};

// The cell of a run outside of any plan is what it was asked to do.
std::string cell_of(const RunRecord& run) { return run.cell.empty() ? record::to_text(run.asked) : run.cell; }

void judge(CellView& cell, const std::vector<const RunRecord*>& attempts) {
  if (attempts.empty()) {
    ++cell.missing;
    return;
  }
  const RunRecord* speaker = attempts.front();
  for (const RunRecord* attempt : attempts)
    if (record::speaks_instead(*attempt, *speaker)) speaker = attempt;
  (speaker->status == record::Status::ok ? cell.done : cell.failed).push_back(speaker);
}

std::vector<Axis> varying(const std::vector<CellView>& cells) {
  std::set<std::string> names;
  for (const CellView& cell : cells)
    for (const auto& [name, value] : cell.settings) names.insert(name);
  std::vector<Axis> axes;
  for (const std::string& name : names) {
    Axis axis{name, {}, true};
    for (const CellView& cell : cells) {
      const Value value = cell.setting(name);
      if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
        axis.values.push_back(value);
      axis.numeric = axis.numeric && (is_number(value) || value == kAbsent);
    }
    if (axis.numeric)
      std::sort(axis.values.begin(), axis.values.end(),
                [](const Value& a, const Value& b) { return rank(a) < rank(b); });
    if (axis.values.size() > 1) axes.push_back(std::move(axis));
  }
  std::stable_partition(axes.begin(), axes.end(), [](const Axis& axis) { return !axis.numeric; });
  return axes;
}

// A plan may be shuffled; people look for a cell by its settings.
void sort_by_axes(std::vector<CellView>& cells, const std::vector<Axis>& axes) {
  std::map<std::string, std::vector<std::ptrdiff_t>> place;
  for (const CellView& cell : cells)
    for (const Axis& axis : axes)
      place[cell.id].push_back(std::find(axis.values.begin(), axis.values.end(), cell.setting(axis.name)) -
                               axis.values.begin());
  std::stable_sort(cells.begin(), cells.end(),
                   [&](const CellView& a, const CellView& b) { return place.at(a.id) < place.at(b.id); });
}

}  // namespace

bool is_absent(const Value& value) { return value == kAbsent; }

Value CellView::setting(const std::string& name) const {
  const auto found = settings.find(name);
  return found == settings.end() ? kAbsent : found->second;
}

const Axis* StudyView::find_axis(const std::string& wanted) const {
  for (const Axis& axis : axes)
    if (axis.name == wanted) return &axis;
  return nullptr;
}

std::string label(const CellView& cell, const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    const Value value = cell.setting(axis.name);
    if (value == kAbsent) continue;
    const bool speaks_for_itself = std::holds_alternative<std::string>(value);
    text += (text.empty() ? "" : ", ") + (speaks_for_itself ? "" : spaced(axis.name) + " ") +
            record::to_text(value);
  }
  return text.empty() && !axes.empty() ? "-" : text;
}

StudyView make_study_view(std::string name, const std::vector<store::PlannedRun>& planned,
                          std::vector<RunRecord> runs) {
  StudyView view;
  view.name = std::move(name);
  view.runs = std::move(runs);
  CellList found;
  for (const store::PlannedRun& run : planned)
    found.attempts_at(found.of(run.cell, run.settings), run.replicate);
  for (const RunRecord& run : view.runs)
    found.attempts_at(found.of(cell_of(run), run.asked), run.replicate).push_back(&run);
  for (std::size_t i = 0; i < found.cells.size(); ++i)
    for (const auto& [replicate, attempts] : found.attempts[i]) judge(found.cells[i], attempts);
  view.cells = std::move(found.cells);
  view.axes = varying(view.cells);
  if (!view.axes.empty()) sort_by_axes(view.cells, view.axes);
  if (!view.cells.empty()) {
    view.common = view.cells.front().settings;
    for (const Axis& axis : view.axes) view.common.erase(axis.name);
  }
  const std::vector<Axis> naming = naming_axes(all_cells(view), view.axes);
  for (CellView& cell : view.cells) {
    cell.label = naming.empty() ? "the only cell" : label(cell, naming);
    cell.throughput = summarise_throughput(cell.done);
  }
  return view;
}

CellThroughput summarise_throughput(std::span<const record::RunRecord* const> runs) {
  CellThroughput result;
  std::vector<record::MeasuredRun> speeds;
  double jitter = 0;
  for (const record::RunRecord* run : runs) {
    if (!run->images_per_second || !std::isfinite(*run->images_per_second)) continue;
    if (!(*run->images_per_second > 0)) continue;
    speeds.push_back({run->node, *run->images_per_second});
    result.max = std::max(result.max, *run->images_per_second);
    const record::LegacyMetrics& legacy = run->statistics.legacy;
    if (legacy.mean_speed > 0) jitter += legacy.speed_jitter / legacy.mean_speed;
    result.steps += run->statistics.steps;
    result.unsteady_steps += run->statistics.unsteady_steps;
    result.never_steady += run->statistics.steady ? 0 : 1;
  }
  if (speeds.empty()) return result;
  const record::CellSummary summary = record::describe_cell(speeds);
  result.runs = summary.runs;
  result.median = summary.median;
  result.mean = summary.mean;
  result.interval = summary.interval;
  result.run_to_run = summary.run_spread;
  result.nodes = summary.nodes;
  result.within_nodes = summary.node_spread;
  result.by_node = summary.by_node;
  result.jitter = jitter / summary.runs;
  return result;
}

}  // namespace trainyard::report
