#pragma once

#include "predict/analytic/residual.h"
#include "predict/runs/device.h"
#include "predict/runs/model_container.h"
#include "predict/runs/network_work.h"
#include "predict/runs/run_table.h"

namespace trainyard::predict {

// MemoryNeed is the bytes of a training step on a device, from first principles. The workspace of a kernel is
// estimated as all that the largest kernel reads and writes, which is what a convolution by matrix products
// lays out.
struct MemoryNeed {
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0;
  double overhead = 0;  // of process, libraries and recorded steps; first principles know nothing of it

  double total() const { return weights + gradients + optimizer + activations + workspace + overhead; }
};
MemoryNeed memory_need(const NetworkWork& work);

// MemoryModel holds the share of its memory that a device has for a step, and the deviation of the need, as a
// logarithm.
struct MemoryModel {
  double usable_share = 0.95;
  double deviation = 0.05;

  // Returns the probability that a step does not fit: about one half where need and share agree.
  double oom_probability(double bytes, const DeviceSheet& device) const;
};

struct MemorySample {
  double bytes = 0, memory_bytes = 0;
  bool oom = false;
};
// Finds the most likely share, given the runs that fitted and those that did not. Samples on one side only
// tell little.
MemoryModel fit_memory(const std::vector<MemorySample>& samples);

// A use place locates a run for its use of resources: the place for its time, and its length, because the
// start before the first step counts.
inline constexpr std::size_t kUseDimensions = kPlaceDimensions + 1;
using UsePlace = std::array<double, kUseDimensions>;
UsePlace use_place(const Place& place, double seconds);

// UseSample is the measured use of a run, with resources named as in predictions.
struct UseSample {
  UsePlace place;
  std::string device;
  std::vector<ResourceUse> use;
};

double logit_of_share(double share);  // finite: 0 and 1 are taken a little inwards
double share_of_logit(double logit);
// Returns NaN where the share is not known.
double share_in(const std::vector<ResourceUse>& use, const std::string& resource, bool peak);

inline constexpr std::size_t kMostUseRows = 1500;  // taken evenly from more: a fit takes their third power

// UseModel predicts the shares of a run's time in which resources are in bursts or near their limits: the
// mean over the device's runs and, as logits, a Gaussian process over places. Far from all runs it predicts
// the mean.
class UseModel {
 public:
  // Output names the resource and the kind of a share: "gpu_util burst". Idle is the rest beside bursts.
  struct Output {
    std::string resource;
    bool peak = false;

    friend bool operator==(const Output&, const Output&) = default;
  };
  struct Row {
    UsePlace place;
    std::vector<double> weights;  // of each output; 0 where the run did not say it
  };
  struct DeviceMeans {
    std::string device;          // empty: over all devices
    std::vector<double> shares;  // of each output
  };

  UseModel() = default;
  // Restores a fitted model. REQUIRES: as many weights and shares as outputs; the first means are over all
  // devices.
  UseModel(std::vector<Output> outputs, std::vector<DeviceMeans> means, std::vector<Row> rows);

  // Fits to samples, and to those that `base` was made from. A NaN share is not known.
  static UseModel fit(const std::vector<UseSample>& samples, const UseModel* base);
  // Fits the means alone.
  static UseModel fit_means(const std::vector<UseSample>& samples, const UseModel* base);

  // Returns NaN for a share that no run had; empty where no run had any.
  std::vector<ResourceUse> at(const UsePlace& place, std::string_view device) const;
  std::vector<ResourceUse> usual(std::string_view device) const;            // the means alone
  std::vector<ResourceUse> named(const std::vector<double>& shares) const;  // one for each output

  const std::vector<Output>& outputs() const { return outputs_; }
  const std::vector<DeviceMeans>& means() const { return means_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  const DeviceMeans& means_of(std::string_view device) const;

  std::vector<Output> outputs_;
  std::vector<DeviceMeans> means_;
  std::vector<Row> rows_;
};

// Every kind of model stores the use of resources in this form: a JSON object, as text, and two tensors.
// docs/formats/prediction-model.md.
std::string use_to_json(const UseModel& use);
std::vector<ModelTensor> use_tensors(const UseModel& use);

// Throws Error (config) naming a member that is missing or out of bounds.
UseModel parse_use(const JsonMembers& members, const ModelContainer& container, const std::string& who);

}  // namespace trainyard::predict
