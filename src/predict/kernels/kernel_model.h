#pragma once

#include "predict/kernels/kernel_memory.h"
#include "predict/kernels/kernel_times.h"
#include "predict/kernels/measured_run.h"
#include "predict/kernels/step_intervals.h"
#include "predict/runs/model_container.h"
#include "predict/runs/run_set.h"

namespace trainyard::predict {

// Corrections are logarithms of factors between the times of a device and those that its figures let expect.
struct Corrections {
  double whole = 0;                     // of every kernel
  double step = 0;                      // of a step, beside those of its kernels
  std::map<std::string, double> of_op;  // of the kernels of an op, beside `whole`

  double of_kernel(const std::string& op) const {
    const auto at = of_op.find(op);
    return whole + (at == of_op.end() ? 0 : at->second);
  }
};

// Adaptation is what a few runs of a device told of it.
struct Adaptation {
  std::string like;      // the device of the model that is most like it
  double doublings = 0;  // from that device
  Corrections corrections;
  double interval_factor = 1;  // of the interval on a device that nobody measured
};

// DeviceRates is a device in one precision, as runs showed it.
struct DeviceRates {
  DeviceSheet device;
  backend::Precision precision = backend::Precision::f32;
  Rates rates;
  double runs = 0;
  std::map<std::string, double> families;  // of networks: their runs of these
  std::optional<Adaptation> adaptation;    // of a device that was not in the fit
};

// KnownRates is what a model says of a device: its rates, and whose they are.
struct KnownRates {
  DeviceRates rates;
  std::string like;      // the device that was seen
  double doublings = 0;  // from that device, 0: it is the same
};

// KernelObservation is a training sample as it was measured; everything else follows from it.
struct KernelObservation {
  KernelShape shape;
  std::size_t device = 0;  // of the model's
  int group = 0;           // networks that are held out together to calibrate intervals
  double seconds = 0, share = 1;
  double error = -1;  // of its prediction by other groups, as a logarithm, 1 at most; below 0: not known
};
struct StepObservation {
  ShapePlace place{};  // what the step spends its time on
  std::size_t device = 0;
  int group = 0;
  double logarithm = 0;  // of the step's seconds over the sum of its kernels', of which some overlap
};

// KernelModel predicts the time of training steps of our own engine, kernel by kernel. The device is an
// input.
class KernelModel {
 public:
  KernelModel() = default;
  KernelModel(std::vector<DeviceRates> devices, std::vector<KernelObservation> kernels,
              std::vector<StepObservation> steps);

  StepIntervals intervals;
  std::vector<std::string> networks;
  double runs = 0;
  KernelMemory memory;  // empty: no run said what it had

  // Returns the rates of a device that was seen in this precision. Another one is expected to reach the same
  // shares of its figures as the seen device that is most like it. Throws Error (config) when nothing was
  // seen in this precision.
  KnownRates find(const DeviceSheet& device, backend::Precision precision) const;
  StepEstimate step(const std::vector<AlikeKernels>& kernels, const Rates& rates, int without = kNobody,
                    const Corrections& corrections = {}) const;
  double kernel_seconds(const KernelShape& shape, const Rates& rates) const {
    return times_.at(shape, rates).seconds;
  }
  // Adds a device that few runs told of; it takes the place of one of its name.
  void add_device(DeviceRates device) { devices_.push_back(std::move(device)); }

  // Returns the error, as a logarithm, of a kernel's prediction by the other groups; below 0: it did not run.
  double error_of(const KernelObservation& kernel) const;

  const std::vector<DeviceRates>& devices() const { return devices_; }
  const std::vector<KernelObservation>& kernels() const { return kernels_; }
  const std::vector<StepObservation>& steps() const { return steps_; }

 private:
  std::vector<DeviceRates> devices_;
  std::vector<KernelObservation> kernels_;
  std::vector<StepObservation> steps_;
  KernelTimes times_;
  std::vector<PlacedSample> overlaps_;
};

// Both locate a step among others by the times of its kernels: its place, and the kind of step at a place.
StepKind kind_at(const ShapePlace& step);
ShapePlace place_of_step(const std::vector<AlikeKernels>& kernels, const std::vector<double>& seconds);

// Fits to those of the rows that have kernels; throws Error (config) when none has. Several threads call
// `stop` now and then: once it returns true the model stays as it is then, without intervals and memory.
KernelModel fit_kernel_model(const RunSet& set, const std::vector<std::size_t>& rows,
                             bool with_intervals = true, const std::function<bool()>& stop = nullptr);

// Corrects the model for the devices of a few runs, by factors of the device and of its ops that these tell,
// no more than helps those of the runs that are left out. Throws Error (config) when no run ended well.
KernelModel adapt_kernel_model(KernelModel model, const RunSet& set, const std::vector<std::size_t>& rows);

std::unique_ptr<Predictor> make_predictor(KernelModel model);

// docs/formats/prediction-model.md describes the format.
inline constexpr const char* kKernelModelSchema = "trainyard-kernel-model";
ModelContainer to_container(const KernelModel& model);
KernelModel parse_kernel_model(const ModelContainer& container, const std::string& who);

}  // namespace trainyard::predict
