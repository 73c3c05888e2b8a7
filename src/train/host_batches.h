#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "data/batch_stream.h"
#include "train/replicas.h"
#include "train/step_tracer.h"

namespace trainyard::train {

// Batches that threads make ahead of the steps of devices that are the host: a stream for each, on its cores.
class HostBatches {
 public:
  using MakerOf = std::function<std::shared_ptr<const data::BatchMaker>(int device)>;

  // The replicas must outlive it.
  HostBatches(Replicas& replicas, const MakerOf& maker_of);

  // Writes the next batch where the device's step reads it, in its thread; returns the images that count.
  // Tells `tracer`, which may be null, when the batch came.
  std::int64_t fill(int device, StepTracer* tracer = nullptr);

  // So far, in fill(): until a batch was ready, was handed over and copied. Steps stand still meanwhile.
  double wait_seconds(int device) const { return wait_seconds_[static_cast<std::size_t>(device)]; }
  double longest_wait_seconds() const;  // of all devices

 private:
  Replicas& replicas_;
  std::vector<std::unique_ptr<data::BatchStream>> streams_;
  std::vector<double> wait_seconds_;  // by device, each written by its thread
};

}  // namespace trainyard::train
