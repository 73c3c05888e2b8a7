#pragma once

#include <string>
#include <vector>

#include "report/study_view.h"

namespace trainyard::report {

struct Chart {
  std::string id, title;
  std::string explanation;  // one line: what is shown
  std::string spec;         // Vega-Lite, with its data; empty: left out
  std::string left_out;     // why it is left out, for people
};

// Throughput of every cell: bar, interval between runs, runs as dots.
Chart make_throughput_chart(const StudyView& view);
// Throughput against the number of threads, devices and the like, with the ideal line; total and per one. A
// chart for every such axis, or one that is left out.
std::vector<Chart> make_scaling_charts(const StudyView& view);
// Throughput against the batch.
Chart make_batch_chart(const StudyView& view);
// Step times in order, a panel a cell: warm-up shaded, outliers marked.
Chart make_steps_chart(const StudyView& view);
// Cores that a run really used against the threads it was given.
Chart make_cores_chart(const StudyView& view);
// Seconds that staging the data took, apart from the run.
Chart make_staging_chart(const StudyView& view);

}  // namespace trainyard::report
