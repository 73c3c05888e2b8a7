#pragma once

#include <thread>

#include "base/mutex.h"
#include "data/view/batch_maker.h"
#include "tensor/tensor.h"
#include "train/exchange/replicas.h"
#include "train/exchange/servers.h"

namespace trainyard::train {

// Batches by their number, as a worker is told which are its own: one is made ahead, by a thread, while the
// other is used.
class LeasedBatches {
 public:
  LeasedBatches(const data::Dataset& dataset, const data::BatchStreamOptions& options);
  ~LeasedBatches();
  LeasedBatches(const LeasedBatches&) = delete;
  LeasedBatches& operator=(const LeasedBatches&) = delete;

  struct Batch {
    std::int64_t number = -1, valid = 0;
    HostTensor images, labels;
  };
  // Makes the batch now unless it was made ahead. Valid until the next call.
  const Batch& get(std::int64_t number) TRAINYARD_EXCLUDES(mutex_);
  // Announces the batch that will probably be requested next.
  void prepare(std::int64_t number) TRAINYARD_EXCLUDES(mutex_);

 private:
  void make(Batch& batch, std::int64_t number, data::BatchMaker::Scratch& scratch) const;
  void run() TRAINYARD_EXCLUDES(mutex_);

  const std::shared_ptr<const data::BatchMaker> maker_;
  Batch used_;
  data::BatchMaker::Scratch scratch_;
  Mutex mutex_;
  ConditionVariable changed_;
  Batch ahead_ TRAINYARD_GUARDED_BY(mutex_);  // without memory while the thread makes one
  std::optional<std::int64_t> wanted_ TRAINYARD_GUARDED_BY(mutex_);  // to be made ahead, or being made
  bool ending_ TRAINYARD_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Makes gradients of the batches that servers ask for until nothing is left to do, or somebody asked it to
// stop: no frame of loop.h, because servers number the steps, and the coordinator's process evaluates and
// saves. `tracer` may be null; a step is one gradient of this worker. Error (config) when the numbers are not
// those of the coordinator; Error (peer) when servers are gone or refuse it; Error (device) when the loss is
// not a number any more. REQUIRES: replicas of the strategy servers.
ps::ClientCounts run_ps_worker(Replicas& replicas, const data::Dataset& dataset,
                               const data::BatchStreamOptions& batches, const ServersOptions& servers,
                               StepTracer* tracer, const comm::transport::JobKey& key,
                               const ps::Client::Log& log);

}  // namespace trainyard::train
