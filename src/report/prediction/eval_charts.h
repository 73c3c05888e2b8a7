#pragma once

#include <vector>

#include "report/chart.h"
#include "report/prediction/eval_view.h"

namespace trainyard::report {

// Predicted against measured seconds of every run that ended well, with intervals; a panel a device.
Chart make_predicted_chart(const EvalView& view);
// The same as relative errors against measured seconds.
Chart make_off_chart(const EvalView& view);
// Median, mean and 95th percentile of errors, the largest first. `parts` says what they are of ("family").
// Bars have the colours of `families`, where the parts are these.
Chart make_errors_chart(const std::string& parts, predict::NamedScores scores,
                        const std::vector<std::string>& families);
// Shares of runs within their 90 % interval, by family.
Chart make_coverage_chart(const EvalView& view);

// Every chart, in the order of the page; those without data say why they are left out.
std::vector<Chart> make_eval_charts(const EvalView& view);

}  // namespace trainyard::report
