#pragma once

#include "predict/gnn/model.h"
#include "predict/graph_features/graph_features.h"
#include "weights/tensor.h"

// Driple's published predictor (Yang et al., SIGMETRICS 2022; github.com/gsyang33/Driple): a graph network
// that sees the graph of a training step and predicts the resource use of the job.
namespace trainyard::predict {

// Imports a published state dict (18 tensors). The dict records neither the scaling of features and labels
// nor the numbers of repeats, so the model has no scaling and Driple's rules. Throws Error (config),
// beginning with '`who`', for other tensors.
GnnModel import_driple(const std::vector<weights::Tensor>& state_dict, const std::string& who);

// DripleUse is what the network predicts of one resource: how long bursts of its use last, how long it idles
// between them, and how much a burst takes. Each is a share of the largest such number among the jobs that
// the network was trained on; the authors do not publish those numbers.
struct DripleUse {
  const char* resource;
  double burst = 0, idle = 0, consumption = 0;

  bool within_learned() const;  // false: outside of 0 to 1, so the network extrapolates
};

struct DriplePrediction {
  std::vector<DripleUse> use;  // "gpu_util", "gpu_memory_util", "net_tx", "net_rx"
  int groups = 0;              // nodes of the graph that the network saw
  std::int64_t unknown_ops = 0;
};

// Predicts from the features that Driple uses, of all ops of the graph. Throws Error (config), beginning with
// '`who`', for a model of other features or outputs, and where the graph has no op.
DriplePrediction predict_by_driple(const GnnModel& model, const interchange::ExchangeGraph& graph,
                                   const OpVocabulary& frequencies, const std::string& who);

}  // namespace trainyard::predict
