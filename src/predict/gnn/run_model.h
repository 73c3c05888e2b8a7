#pragma once

#include "predict/analytic/use_model.h"
#include "predict/gnn/fit.h"
#include "predict/gnn/job_graph.h"
#include "predict/runs/run_set.h"

namespace trainyard::predict {

// GraphRunModel predicts time and resource use of training runs by a graph network that sees the graph of the
// step and the device. It predicts memory from first principles, because published runs do not report it.
struct GraphRunModel {
  struct SeenDevice {
    DeviceSheet device;
    double start_seconds = 0;  // before the first step
    double runs = 0;
  };

  // Outputs: seconds of a step, then a power of the odds of each share of `use`.
  GnnModel network;
  GraphForm form;
  UseModel use;  // which shares, and their means over each device's runs; no places
  std::vector<SeenDevice> devices;
  MemoryModel memory;
  double half_interval = 0;  // holds 90 %, as a logarithm; 0: not calibrated
  std::vector<std::string> networks;
  double runs = 0;

  std::vector<DeviceSheet> seen_devices() const;
};

struct GraphRunFit {
  int groups = 60;
  std::int64_t epochs = 200, patience = 40;
  std::uint64_t seed = 42;
  GraphConvolution convolution = GraphConvolution::gcn;  // with a base: the base's
  // The fit begins with its weights and keeps all except the dense layers behind the readout, so that only
  // those see the few runs.
  const GraphRunModel* base = nullptr;
  std::filesystem::path folder = {};  // of checkpoints; a fit that was interrupted goes on from there
  std::function<bool(const EpochReport&)> hear = nullptr;
};

struct GraphRunResult {
  GraphRunModel model;
  std::int64_t epochs = 0, best_epoch = 0;
  bool interrupted = false;  // by `hear`
};

// Fits to rows of the set. The validation rows decide when training stops and how wide intervals are; without
// any, a fifth of the first rows does. Runs that differ in epochs alone are one graph. Throws Error (config)
// when no run ended well.
GraphRunResult fit_graph_runs(const RunSet& set, std::vector<std::size_t> training,
                              std::vector<std::size_t> validation, const GraphRunFit& options);

std::unique_ptr<Predictor> make_predictor(GraphRunModel model);

inline constexpr const char* kGraphRunSchema = "trainyard-graph-run-model";

// docs/formats/model-file.md describes the format.
ModelContainer to_container(const GraphRunModel& model);
GraphRunModel parse_graph_run_model(const ModelContainer& container, const std::string& who);
void write_graph_run_model(const GraphRunModel& model, const std::filesystem::path& path);

}  // namespace trainyard::predict
