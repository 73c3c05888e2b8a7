#pragma once

#include "analyze/analysis.h"
#include "analyze/ensemble.h"
#include "record/run_record.h"
#include "report/study_view.h"

namespace trainyard::report {

struct Chart {
  std::string id, title;
  std::string explanation;  // one line: what is shown
  std::string spec;         // Vega-Lite, with its data; empty: left out
  std::string left_out;     // why it is left out, for people
  bool folded = false;      // shown closed; a reader can open it
};

// More cells cannot be told apart one by one; published sweeps have thousands.
inline constexpr std::size_t kMostCells = 400;

// Throughput of every cell, cells of one scale together: bars with intervals between runs and runs as dots,
// or where they are many a table of numbers a setting. One chart that is left out where none says anything.
std::vector<Chart> make_throughput_charts(const StudyView& view);
// Draws throughput against the number of threads, devices and the like, with the ideal line; total and per
// one. Makes a chart for every such axis, or one that is left out.
std::vector<Chart> make_scaling_charts(const StudyView& view);
// Draws throughput against the batch.
Chart make_batch_chart(const StudyView& view);
// Draws latency, median and p99, against throughput: a line a network and setting, a point a batch or a rate
// of requests, those on the Pareto front ringed. One chart for forward passes, tokens and requests each;
// none where no run infers.
std::vector<Chart> make_latency_charts(const StudyView& view);
// Step times in order, a panel a cell: warm-up shaded, outliers marked.
Chart make_steps_chart(const StudyView& view);
// Draws the cores that a run really used against the threads it was given.
Chart make_cores_chart(const StudyView& view);
// Draws the seconds that staging the data took, apart from the run.
Chart make_staging_chart(const StudyView& view);
// Draws the resource use of profiled commands over time, with bursts shaded.
Chart make_profile_chart(const StudyView& view);
// Draws that of one command. `profile`: the object of docs/formats/profile.md, as text.
Chart make_profile_chart(const std::string& profile);

// The next functions draw the points of a sweep over networks (analyze/analysis.h).
//
// Draws utilisation, or the metric if no roof is known: a cell a point, those out of memory marked. Each
// family of networks has a chart of its own, because its settings are its own.
std::vector<Chart> make_heat_map_charts(const analyze::Analysis& analysis);
// Standardised weights of the settings, of order one and two.
Chart make_weights_chart(const analyze::Analysis& analysis);
// Steps, and kinds of op, below the roofs of arithmetic and bandwidth.
std::vector<Chart> make_roofline_charts(const analyze::Analysis& analysis);
// The share of time of each kind of op, in every point.
Chart make_ops_chart(const analyze::Analysis& analysis);
// Draws the limit of each point: its position, and the parts of its step.
Chart make_limits_chart(const analyze::Analysis& analysis);
// Draws one system over the other, where the study has two: by dimension, and against parameters.
std::vector<Chart> make_speedup_charts(const StudyView& view);

// The next functions draw studies that run ensembles.
//
// Draws a member's pace, and the CPU that sharing saves with the model's curve, against the number of
// members.
Chart make_ensemble_peak_chart(const std::vector<analyze::EnsembleRun>& runs);
Chart make_ensemble_reduction_chart(const std::vector<analyze::EnsembleRun>& runs);
// Draws how much faster members are that share, against cores.
Chart make_ensemble_cores_chart(const std::vector<analyze::EnsembleRun>& runs);
// Draws how full the queues of each process were, over time.
Chart make_ensemble_queues_chart(const StudyView& view);
Chart make_ensemble_power_chart(const StudyView& view);

// Panels that a page shows at first.
inline constexpr std::size_t kMostOpenPanels = 24;

// Draws every chart, in the order of the page; those that the study has no data for say why they are left
// out. Those whose panels would be more than a page shows at first are folded.
std::vector<Chart> make_charts(const StudyView& view);

struct TracePoint {
  std::int64_t step = 0;  // from 1, warm-up steps first
  double seconds = 0;
  bool outlier = false;
};

// The steps of a run as a picture of at most about `most` points: of every stretch of steps its fastest and
// its slowest, and every outlier.
std::vector<TracePoint> trace_steps(const record::RunRecord& run, std::size_t most);

}  // namespace trainyard::report
