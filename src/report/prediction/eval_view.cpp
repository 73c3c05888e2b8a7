#include "report/prediction/eval_view.h"

#include <algorithm>
#include <set>

namespace trainyard::report {

using predict::Judged;

bool has_interval(const Judged& one) { return one.low < one.high; }

bool has_intervals(const EvalView& view) {
  return std::any_of(view.judged.begin(), view.judged.end(), has_interval);
}

std::string family_name(const PredictedRun& run) { return run.family.empty() ? "other" : run.family; }

std::vector<std::string> families_of(const EvalView& view) {
  std::set<std::string> names;
  bool known = false;
  for (const Judged& one : view.judged) {
    names.insert(family_name(view.run(one)));
    known = known || !view.run(one).family.empty();
  }
  if (!known) return {};
  return {names.begin(), names.end()};
}

predict::NamedScores family_scores(const EvalView& view) {
  return predict::scores_by(view.judged, [&](const Judged& one) { return family_name(view.run(one)); });
}

predict::NamedScores device_scores(const EvalView& view) {
  return predict::scores_by(view.judged, [&](const Judged& one) { return view.run(one).device; });
}

predict::NamedScores network_scores(const EvalView& view) {
  return predict::scores_by(view.judged, [&](const Judged& one) { return view.run(one).network; });
}

}  // namespace trainyard::report
