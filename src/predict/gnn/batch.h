#pragma once

#include "engine/executor.h"
#include "predict/gnn/graph_sample.h"
#include "predict/gnn/network.h"
#include "predict/gnn/scaling.h"

namespace trainyard::predict {

// Returns room for any `graphs` of the samples at once.
Capacity capacity_for(std::span<const GraphSample> samples, const Architecture& architecture,
                      std::int64_t graphs);

// Writes graphs into the inputs of a network, in their order, scaled. REQUIRES: on the host; they fit.
void write_graphs(engine::Executor& executor, std::span<const GraphSample* const> samples,
                  const Architecture& architecture, const GnnScaling& scaling);

// Writes their labels. The loss is then the mean over the known labels; returns their number.
std::int64_t write_labels(engine::Executor& executor, std::span<const GraphSample* const> samples,
                          const GnnScaling& scaling);

}  // namespace trainyard::predict
