#pragma once

#include <string>
#include <vector>

#include "networks/model.h"
#include "ops/update_attrs.h"
#include "predict/kernels/kernel_shape.h"
#include "record/run_record.h"

namespace trainyard::predict {

// A training step of our own engine: what is asked of it.
struct StepJob {
  networks::ModelOptions model;
  ops::Rule optimizer = ops::Rule::sgd;
  backend::Precision precision = backend::Precision::f32;

  std::string family() const;
  graph::Graph graph() const;  // with the training step
};

// A run of it whose kernels were timed (`bench --ops`).
struct MeasuredRun {
  StepJob job;
  std::string device;
  double step_seconds = 0;  // median
  double memory_bytes = 0;  // that the step's device had less; of a CPU, the most that was resident
  // Nodes of the step that are alike, once. Seconds are of one, 0 where a neighbour did its work.
  struct Kernel {
    KernelShape shape;
    double count = 1;      // so many are alike
    double seconds = 0;    // mean of those that ran
    double share = 1;      // that ran
    double workspace = 0;  // bytes, mean of those that ran
  };
  std::vector<Kernel> kernels;

  double kernel_seconds() const;  // of all of them
};

// Nodes that are alike, counted; nothing is known of their seconds.
std::vector<MeasuredRun::Kernel> kernels_of(const StepJob& job);

// What a record says was asked. Error (config) when the network or a setting is not known.
StepJob job_of(const record::RunRecord& record);

// Whether the record is of a training step on one device, ended well and has its kernels' seconds.
bool has_kernel_seconds(const record::RunRecord& record);
// REQUIRES: has_kernel_seconds. The device is `device`, or the one that was asked for.
MeasuredRun measured_run(const record::RunRecord& record, const std::string& device);

}  // namespace trainyard::predict
