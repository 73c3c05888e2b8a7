#include "train/host_batches.h"

#include <algorithm>

#include "base/clock.h"

namespace trainyard::train {

HostBatches::HostBatches(Replicas& replicas, const MakerOf& maker_of)
    : replicas_(replicas),
      streams_(static_cast<std::size_t>(replicas.here())),
      wait_seconds_(static_cast<std::size_t>(replicas.here())) {
  replicas_.run([&](int device) {
    streams_[static_cast<std::size_t>(device)] = std::make_unique<data::BatchStream>(maker_of(device));
  });
}

std::int64_t HostBatches::fill(int device, StepTracer* tracer) {
  const double began = now_seconds();
  Session& session = replicas_.session(device);
  const data::Batch& batch = streams_[static_cast<std::size_t>(device)]->next();
  if (tracer != nullptr) tracer->notes(device).came = now_seconds();
  session.executor().write(session.input_names().inputs, batch.images);
  session.executor().write(session.input_names().labels, batch.labels);
  wait_seconds_[static_cast<std::size_t>(device)] += now_seconds() - began;
  return batch.valid;
}

double HostBatches::longest_wait_seconds() const {
  return *std::max_element(wait_seconds_.begin(), wait_seconds_.end());
}

}  // namespace trainyard::train
