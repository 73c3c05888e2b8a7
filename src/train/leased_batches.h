#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "data/image_batches.h"
#include "tensor/host_tensor.h"

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
  // Made now unless it was made ahead. Valid until the next call.
  const Batch& get(std::int64_t number);
  // It will be wanted next, probably.
  void prepare(std::int64_t number);

 private:
  void make(Batch& batch, std::int64_t number);
  void run();

  const data::ImageBatches maker_;
  Batch used_, ahead_;
  data::BatchMaker::Scratch scratch_, scratch_ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::int64_t> wanted_;  // to be made ahead, or being made
  bool making_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace trainyard::train
