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

// Basis says what a model learned from, as far as it concerns a job.
struct Basis {
  std::string model;   // kind of the model, behind the name of one that the program carries
  double runs = 0;     // that it learned from
  std::string device;  // whose runs count most: the job's, or the one most like it
  bool device_seen = false;
  double device_runs = 0;  // on that device, in the job's precision where the model tells them apart
  double family_runs =
      -1;  // of these of the job's family of networks; below 0: the model does not count them
  std::vector<std::string> families;  // of networks that were seen, in the order of their names
};

std::vector<std::string> families_of(const std::vector<std::string>& networks);

// Predictor is the interface of every kind of model. It makes networks once and keeps them, so only one
// thread may use it at a time.
class Predictor {
 public:
  virtual ~Predictor() = default;

  // Returns predictions in the order of the jobs. Throws Error (config) naming an unknown network, or a
  // precision that the model does not know.
  virtual std::vector<Prediction> predict(std::span<const JobDescription> jobs) = 0;
  virtual std::vector<DeviceSheet> devices() const = 0;        // that it has seen
  virtual bool knows(backend::Precision precision) const = 0;  // saw runs in it, on some device
  virtual Basis basis(const JobDescription& job) const = 0;

  Prediction predict(const JobDescription& job) { return predict(std::span(&job, 1)).front(); }
};

std::unique_ptr<Predictor> make_predictor(TimeModel model);

}  // namespace trainyard::predict
