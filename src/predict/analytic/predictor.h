#pragma once

#include "predict/analytic/time_model.h"
#include "predict/runs/run_table.h"

namespace trainyard::predict {

// JobDescription is a training run to predict.
struct JobDescription {
  std::string network;  // of the zoo, or as tables spell it
  std::int64_t batch = 1;
  int classes = 0;  // 0: the network's own
  Shape input{};    // no dimension: as the name says
  ops::Rule optimizer = ops::Rule::sgd;
  DeviceSheet device;  // a model that has seen it goes by its name
  double steps = 1;    // with those of a warm-up
  backend::Precision precision = backend::Precision::f32;
  bool with_start = true;                   // seconds of the whole process, not of its steps alone
  networks::generator::Given parameters{};  // of a generated network
};

// Describes the same run on a device. Throws Error (config) naming an unknown network.
JobDescription describe(const TableRun& run, const DeviceSheet& device);

// Returns the part of a job that its work depends on.
WorkOptions work_options(const JobDescription& job);

// Predictor is the interface of every kind of model. It makes networks once and keeps them, so only one
// thread may use it at a time.
class Predictor {
 public:
  virtual ~Predictor() = default;

  // Returns predictions in the order of the jobs. Throws Error (config) naming an unknown network, or a
  // precision that the model does not know.
  virtual std::vector<Prediction> predict(std::span<const JobDescription> jobs) = 0;
  virtual std::vector<DeviceSheet> devices() const = 0;  // that it has seen

  Prediction predict(const JobDescription& job) { return predict(std::span(&job, 1)).front(); }
};

std::unique_ptr<Predictor> make_predictor(TimeModel model);

}  // namespace trainyard::predict
