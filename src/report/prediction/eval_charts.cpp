#include "report/prediction/eval_charts.h"

namespace trainyard::report {

std::vector<Chart> make_eval_charts(const EvalView& view) {
  const std::vector<std::string> families = families_of(view);
  return {
      make_predicted_chart(view),
      make_off_chart(view),
      make_errors_chart("family", families.empty() ? predict::NamedScores{} : family_scores(view), families),
      make_errors_chart("device", device_scores(view), {}),
      make_errors_chart("network", network_scores(view), {}),
      make_coverage_chart(view)};
}

}  // namespace trainyard::report
