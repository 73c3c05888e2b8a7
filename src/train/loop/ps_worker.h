#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

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
  const Batch& get(std::int64_t number);
  // Announces the batch that will probably be requested next.
  void prepare(std::int64_t number);

 private:
  void make(Batch& batch, std::int64_t number);
  void run();

  const std::shared_ptr<const data::BatchMaker> maker_;
  Batch used_, ahead_;
  data::BatchMaker::Scratch scratch_, scratch_ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::int64_t> wanted_;  // to be made ahead, or being made
  bool making_ = false, ending_ = false;
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
