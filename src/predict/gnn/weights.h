#pragma once

#include <vector>

#include "engine/executor.h"
#include "predict/gnn/named_tensor.h"
#include "predict/gnn/network.h"

namespace trainyard::predict {

// The parameters of an executor of a graph network, trained or frozen. REQUIRES: names and shapes agree.
void write_weights(engine::Executor& executor, const std::vector<NamedTensor>& tensors);
std::vector<NamedTensor> read_weights(const engine::Executor& executor, const Architecture& architecture);

}  // namespace trainyard::predict
