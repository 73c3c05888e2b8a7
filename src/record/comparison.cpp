#include "record/comparison.h"

namespace trainyard::record {
namespace {

struct Cell {
  std::vector<MeasuredRun> runs;    // with the metric
  std::vector<MeasuredRun> speeds;  // stalls included, of the same runs
  std::vector<double> accuracies;   // of all that ended well, as far as known
};

using Cells = std::map<Settings, Cell>;

Cells cells_of(std::span<const RunRecord> runs, const Metric& metric, int& without_value) {
  Cells cells;
  for (const RunRecord& run : runs) {
    const std::optional<MeasuredRun> measured = measure(run, metric);
    if (!measured) ++without_value;
    if (run.status != Status::ok || (!measured && !metric.accuracy)) continue;
    Cell& cell = cells[envelope(run)];
    if (measured) cell.runs.push_back(*measured);
    if (const auto speed = measure(run, Metric()); measured && speed) cell.speeds.push_back(*speed);
    if (const auto found = run.figures.find("test_accuracy"); found != run.figures.end())
      if (std::isfinite(found->second)) cell.accuracies.push_back(found->second);
  }
  return cells;
}

// Returns why the cell does not count as trained; "" where it does, or nobody asked.
std::string missed_accuracy(const Cell& cell, const Metric& metric) {
  if (!metric.accuracy) return "";
  if (cell.accuracies.empty()) return "no test accuracy is known";
  if (stats::median(cell.accuracies) >= *metric.accuracy) return "";
  return fmt::format("test accuracy {:.4g} in the median, {:.4g} is asked for",
                     stats::median(cell.accuracies), *metric.accuracy);
}

// Equally fast steps with more pauses between or in some of them are still a loss. Most pauses come from the
// machine, so this test gets an additional fifth of the level, and a small effect is only a note.
constexpr double kShareOfStalls = 0.2;

void judge_stalls(Verdict& verdict, const Cell& a, const Cell& b, const VerdictOptions& options) {
  if (a.speeds.size() < 2 || b.speeds.size() < 2) return;
  Verdict stalls = compare_runs(a.speeds, b.speeds, options);
  if (stalls.outcome != Outcome::worse) return;
  stalls.p_value = std::min(stalls.p_value / kShareOfStalls, 1.0);
  if (stalls.p_value <= kAlarmLevel) {
    stalls.note =
        fmt::format("images_per_second, stalls included; the faster steps alone: {:.3f}", verdict.ratio);
    verdict = std::move(stalls);
  } else {
    verdict.note += fmt::format("{}images_per_second, stalls included, may be slower: {:.3f}",
                                verdict.note.empty() ? "" : "; ", stalls.ratio);
  }
}

Verdict compare(const Cell& a, const Cell& b, const Metric& metric, VerdictOptions options) {
  options.more_is_better = metric.more_is_better;
  options.noise_worsens = metric.is_pace();
  Verdict verdict;
  if (!a.runs.empty() && !b.runs.empty()) verdict = compare_runs(a.runs, b.runs, options);
  const std::string missed_a = missed_accuracy(a, metric), missed_b = missed_accuracy(b, metric);
  if (!missed_b.empty() && missed_a.empty()) {
    // The result is not random among many cells, so it gets the p-value of a certain claim.
    verdict.outcome = Outcome::worse;
    verdict.p_value = 0;
    verdict.note = "B: " + missed_b;
  } else if (!missed_a.empty()) {
    verdict.outcome = Outcome::unclear;
    verdict.note = "A: " + missed_a;
  } else if (a.runs.empty() || b.runs.empty()) {
    verdict.note = "a side has no run with this metric";
  } else if (metric.name == kQuietSpeed && verdict.outcome != Outcome::worse) {
    judge_stalls(verdict, a, b, options);
  }
  return verdict;
}

// Returns the settings that have to agree, as text: 2 and 2.0 are equal, and so are an absent setting and an
// empty one.
std::map<std::string, std::string> agreeing(const Settings& envelope, const std::set<std::string>& across) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : envelope)
    if (std::string text = to_text(value); name != "build" && !across.contains(name) && !text.empty())
      texts[name] = std::move(text);
  return texts;
}

UnmatchedCell unmatched(const Settings& envelope, const Cells& others, bool only_in_a) {
  UnmatchedCell result{envelope, only_in_a, {}};
  bool first = true;
  for (const auto& [other, runs] : others) {
    auto here = only_in_a ? differences(envelope, other) : differences(other, envelope);
    std::erase_if(here, [](const SettingDifference& difference) { return difference.name == "build"; });
    if (first || here.size() < result.nearest.size()) result.nearest = std::move(here);
    first = false;
  }
  return result;
}

// Applies Holm's method: the smallest p-value must hold against the level over the number of tests, the next
// one against the level over one test less, and so on; after the first that does not, none does.
void allow_for_many(std::vector<ComparedCell>& cells) {
  std::vector<Verdict*> by_p;
  for (ComparedCell& cell : cells) by_p.push_back(&cell.verdict);
  std::stable_sort(by_p.begin(), by_p.end(),
                   [](const Verdict* x, const Verdict* y) { return x->p_value < y->p_value; });
  bool holds = true;
  for (std::size_t i = 0; i < by_p.size(); ++i) {
    holds = holds && by_p[i]->p_value * static_cast<double>(by_p.size() - i) <= kAlarmLevel;
    const bool claim = by_p[i]->outcome == Outcome::better || by_p[i]->outcome == Outcome::worse;
    if (holds || !claim) continue;
    by_p[i]->outcome = Outcome::unclear;
    by_p[i]->note = fmt::format("chance could do this in one of {} cells", by_p.size());
  }
}

}  // namespace

int Comparison::count(Outcome outcome) const {
  return static_cast<int>(std::count_if(
      cells.begin(), cells.end(), [&](const ComparedCell& cell) { return cell.verdict.outcome == outcome; }));
}

Comparison compare_cells(std::span<const RunRecord> a, std::span<const RunRecord> b,
                         const std::set<std::string>& across, const Metric& metric,
                         const VerdictOptions& options) {
  Comparison result;
  const Cells cells_a = cells_of(a, metric, result.without_value_a),
              cells_b = cells_of(b, metric, result.without_value_b);
  std::map<std::map<std::string, std::string>, std::vector<Cells::const_iterator>> by_agreeing;
  for (auto cell = cells_b.begin(); cell != cells_b.end(); ++cell)
    by_agreeing[agreeing(cell->first, across)].push_back(cell);
  std::set<Settings> matched_b;
  for (const auto& [envelope_a, runs_a] : cells_a) {
    const auto found = by_agreeing.find(agreeing(envelope_a, across));
    if (found == by_agreeing.end()) {
      result.unmatched.push_back(unmatched(envelope_a, cells_b, true));
      continue;
    }
    for (const Cells::const_iterator cell : found->second) {
      result.cells.push_back({envelope_a, cell->first, compare(runs_a, cell->second, metric, options)});
      matched_b.insert(cell->first);
    }
  }
  for (const auto& [envelope_b, runs_b] : cells_b)
    if (!matched_b.contains(envelope_b)) result.unmatched.push_back(unmatched(envelope_b, cells_a, false));
  allow_for_many(result.cells);
  return result;
}

}  // namespace trainyard::record
