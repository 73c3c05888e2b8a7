#include "record/comparison.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "record/two_level.h"

namespace trainyard::record {
namespace {

using Cells = std::map<Settings, std::vector<MeasuredRun>>;

Cells cells_of(std::span<const RunRecord> runs, int& without_speed) {
  Cells cells;
  for (const RunRecord& run : runs) {
    if (has_speed(run))
      cells[envelope(run)].push_back(measured(run));
    else
      ++without_speed;
  }
  return cells;
}

// What has to agree, as text: 2 and 2.0 are alike, and so are a setting that is absent and an empty one.
std::map<std::string, std::string> agreeing(const Settings& envelope, const std::set<std::string>& across) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : envelope)
    if (std::string text = to_text(value); !across.contains(name) && !text.empty())
      texts[name] = std::move(text);
  return texts;
}

UnmatchedCell unmatched(const Settings& envelope, const Cells& others, bool only_in_a) {
  UnmatchedCell result{envelope, only_in_a, {}};
  bool first = true;
  for (const auto& [other, runs] : others) {
    auto here = only_in_a ? differences(envelope, other) : differences(other, envelope);
    if (first || here.size() < result.nearest.size()) result.nearest = std::move(here);
    first = false;
  }
  return result;
}

// Holm: the smallest p-value must hold against the level over the number of tests, the next one against the
// level over one test less, and so on; after the first that does not, none does.
void allow_for_many(std::vector<ComparedCell>& cells) {
  std::vector<Verdict*> by_p;
  for (ComparedCell& cell : cells) by_p.push_back(&cell.verdict);
  std::stable_sort(by_p.begin(), by_p.end(),
                   [](const Verdict* x, const Verdict* y) { return x->p_value < y->p_value; });
  bool holds = true;
  for (std::size_t i = 0; i < by_p.size(); ++i) {
    holds = holds && by_p[i]->p_value * static_cast<double>(by_p.size() - i) <= kAlarmLevel;
    const bool claim = by_p[i]->outcome == Outcome::faster || by_p[i]->outcome == Outcome::slower;
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
                         const std::set<std::string>& across, const VerdictOptions& options) {
  Comparison result;
  const Cells cells_a = cells_of(a, result.without_speed_a), cells_b = cells_of(b, result.without_speed_b);
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
      result.cells.push_back({envelope_a, cell->first, compare_runs(runs_a, cell->second, options)});
      matched_b.insert(cell->first);
    }
  }
  for (const auto& [envelope_b, runs_b] : cells_b)
    if (!matched_b.contains(envelope_b)) result.unmatched.push_back(unmatched(envelope_b, cells_a, false));
  allow_for_many(result.cells);
  return result;
}

}  // namespace trainyard::record
