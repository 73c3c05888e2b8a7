#include "report/prediction/eval_view.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/core.h>

#include "report/theme.h"

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

namespace {

// More are neither told apart nor drawn in good time.
constexpr std::size_t kMostPoints = 3000;

bool drawable(const Judged& one) { return !one.oom && one.measured > 0 && one.predicted > 0; }

}  // namespace

const char* const kRunTooltip = R"json([
          {"field": "network"}, {"field": "series", "title": "family"}, {"field": "batch", "type": "quantitative"},
          {"field": "optimizer"}, {"field": "device"}, {"field": "epochs", "type": "quantitative"}, {"field": "dataset"},
          {"field": "measured", "type": "quantitative", "title": "measured, s", "format": ",.4~r"},
          {"field": "predicted", "type": "quantitative", "title": "predicted, s", "format": ",.4~r"},
          {"field": "low", "type": "quantitative", "title": "90 % from, s", "format": ",.4~r"},
          {"field": "high", "type": "quantitative", "title": "90 % to, s", "format": ",.4~r"},
          {"field": "error", "type": "quantitative", "title": "error", "format": "+.1%"}
        ])json";

DrawnRuns drawn_runs(const EvalView& view) {
  std::vector<const Judged*> all;
  for (const Judged& one : view.judged)
    if (drawable(one)) all.push_back(&one);
  const std::size_t step = (all.size() + kMostPoints - 1) / kMostPoints;
  if (step < 2) return {all, ""};
  DrawnRuns drawn{{}, fmt::format(" One of {} of {} predictions.", step, all.size())};
  for (std::size_t i = 0; i < all.size(); i += step) drawn.runs.push_back(all[i]);
  return drawn;
}

Row run_row(const PredictedRun& run, const Judged& one) {
  Row row{{"kind", std::string("run")},
          {"network", run.network},
          {"series", family_name(run)},
          {"device", run.device},
          {"batch", run.batch},
          {"optimizer", run.optimizer},
          {"epochs", run.epochs},
          {"dataset", run.dataset},
          {"measured", one.measured},
          {"predicted", one.predicted},
          {"error", one.predicted / one.measured - 1}};
  if (has_interval(one)) row.insert(row.end(), {{"low", one.low}, {"high", one.high}});
  return row;
}

std::string run_colours(const EvalView& view) {
  const std::vector<std::string> families = families_of(view);
  return family_colours(families.empty() ? std::vector<std::string>{"other"} : families);
}

}  // namespace trainyard::report
