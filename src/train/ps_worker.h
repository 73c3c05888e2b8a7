#pragma once

#include <functional>

#include "comm/transport/job_key.h"
#include "data/batch_maker.h"
#include "ps/client.h"
#include "train/shared_numbers.h"
#include "train/step_tracer.h"

namespace trainyard::train {

// What one step of a worker came to; travels with its gradient to whoever makes the record. Seconds.
struct StepNote {
  float loss = 0;
  float input = 0, forward = 0, backward = 0;  // of this step
  // Of the step before: until its gradient had left, until the server answered (it applied, and perhaps
  // waited for others), until all weights were here.
  float push = 0, apply = 0, pull = 0;
  float user = 0, system = 0;  // CPU time of the worker since its step before

  static constexpr std::size_t kNumbers = 9;
  std::array<std::byte, kNumbers * sizeof(float)> to_bytes() const;
  // Nothing when they are something else.
  static std::optional<StepNote> from_bytes(std::span<const std::byte> bytes);
};

struct PsWorkerOptions {
  int worker = 0;
  int servers = 1;
  comm::transport::Address coordinator;
  WireLayout layout = WireLayout::canonical;
  std::uint32_t fingerprint = 0;  // of the coordinator's numbers
  bool bf16 = false;
  double give_up_seconds = 30;
  StepTracer* tracer = nullptr;  // null: nobody traces; a step is one gradient of this worker
};

// Makes gradients of the batches that it is told until nothing is left to do, or somebody asked it to stop.
// Error (config) when its numbers are not those of the coordinator; Error (peer) when servers are gone or
// refuse it; Error (device) when its loss is not a number any more. REQUIRES: a session that keeps gradients.
ps::ClientCounts run_ps_worker(Session& session, const data::Dataset& dataset,
                               const data::BatchStreamOptions& batches, const PsWorkerOptions& options,
                               const comm::transport::JobKey& key, const ps::Client::Log& log);

}  // namespace trainyard::train
