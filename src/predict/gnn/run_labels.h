#pragma once

#include "predict/gnn/run_model.h"

namespace trainyard::predict {

std::vector<JobDescription> jobs_of(const RunSet& set, const std::vector<std::size_t>& rows);

// Returns the seconds that runs of one device take before their first step, from runs that differ in steps
// alone; 0 where there are none.
double start_seconds_of(const RunSet& set, const std::vector<std::size_t>& rows);

// Makes one graph for all runs of the same work on the same device, with the mean of their measurements as
// labels.
std::vector<GraphSample> labelled_graphs(const RunSet& set, const std::vector<std::size_t>& rows,
                                         const GraphRunModel& model, JobGraphs& graphs);

// Both convert between a share and a label, which is above 0. The label's logarithm is a fraction of the
// logit: shares scatter by several units of it, and the network must still have capacity to learn time.
float label_of_share(double share);
double share_of_label(float label);

// Returns the start seconds of a device that was seen, or the mean over those.
double start_seconds_on(const GraphRunModel& model, const DeviceSheet& device);

}  // namespace trainyard::predict
