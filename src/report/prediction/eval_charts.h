#pragma once

#include "predict/analytic/evaluate.h"
#include "report/chart.h"
#include "report/spec.h"

namespace trainyard::report {

// Describes a run that was predicted.
struct PredictedRun {
  std::string network, device;
  std::string family;  // of the network; empty: not known
  std::string optimizer, dataset;
  std::int64_t batch = 0;
  double epochs = 0;
};

// All that the page of an evaluation sees.
struct EvalView {
  std::string title{};   // what the runs are from
  std::string method{};  // sentences: which model predicted which runs
  std::vector<PredictedRun> runs{};
  std::vector<predict::Judged> judged{};  // rows are places in `runs`; one may be judged several times
  predict::NamedScores held_out{};        // empty: nothing was
  std::map<std::string, int> skipped{};   // runs left out, by the unknown name

  const PredictedRun& run(const predict::Judged& one) const { return runs[one.row]; }
};

// Returns whether a prediction came with an interval: models that were not calibrated have none.
bool has_interval(const predict::Judged& one);
bool has_intervals(const EvalView& view);

// Families of the runs that were judged, by name; empty where none is known. Those of some unknown have
// "other".
std::vector<std::string> families_of(const EvalView& view);
std::string family_name(const PredictedRun& run);

// By name.
predict::NamedScores family_scores(const EvalView& view);
predict::NamedScores device_scores(const EvalView& view);
predict::NamedScores network_scores(const EvalView& view);

// These parts are shared by charts that draw runs as points.

// Runs that ended well, or some of them where they are many: then `thinned` says so.
struct DrawnRuns {
  std::vector<const predict::Judged*> runs;
  std::string thinned;
};
DrawnRuns drawn_runs(const EvalView& view);

// kind "run", what the run is ("series" is its family), measured, predicted, error, and low and high where
// there is an interval.
Row run_row(const PredictedRun& run, const predict::Judged& one);
// These texts are JSON of the tooltip for such rows, and of their colours.
extern const char* const kRunTooltip;
std::string run_colours(const EvalView& view);

// Predicted against measured seconds of every run that ended well, with intervals; a panel a device.
Chart make_predicted_chart(const EvalView& view);
// Draws the same as relative errors against measured seconds.
Chart make_off_chart(const EvalView& view);
// Median, mean and 95th percentile of errors, the largest first. `parts` says what they are of ("family").
// Bars have the colours of `families`, where the parts are these.
Chart make_errors_chart(const std::string& parts, predict::NamedScores scores,
                        const std::vector<std::string>& families);
// Shares of runs within their 90 % interval, by family.
Chart make_coverage_chart(const EvalView& view);

// Draws every chart, in the order of the page; those without data say why they are left out.
std::vector<Chart> make_eval_charts(const EvalView& view);

}  // namespace trainyard::report
