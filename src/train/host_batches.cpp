#include "train/host_batches.h"

#include <algorithm>

#include "base/clock.h"

namespace trainyard::train {

HostBatches::HostBatches(Replicas& replicas, const MakerOf& maker_of)
    : replicas_(replicas), streams_(static_cast<std::size_t>(replicas.here())) {
  replicas_.run([&](int device) {
    streams_[static_cast<std::size_t>(device)] = std::make_unique<data::BatchStream>(maker_of(device));
  });
}

std::int64_t HostBatches::fill(int device, StepTracer* tracer) {
  Session& session = replicas_.session(device);
  const data::Batch& batch = streams_[static_cast<std::size_t>(device)]->next();
  if (tracer != nullptr) tracer->notes(device).came = now_seconds();
  session.executor().write(session.input_names().inputs, batch.images);
  session.executor().write(session.input_names().labels, batch.labels);
  return batch.valid;
}

double HostBatches::longest_wait_seconds() const {
  double longest = 0;
  for (const auto& stream : streams_) longest = std::max(longest, stream->wait_seconds());
  return longest;
}

}  // namespace trainyard::train
