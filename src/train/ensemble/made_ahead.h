#pragma once

#include <exception>
#include <thread>

#include "train/ensemble/bounded_queue.h"
#include "train/ensemble/sample_maker.h"

namespace trainyard::train::ensemble {

// Blocks that a thread of its own has made ahead of who passes them on, so that neither waits for the other
// while the queue is neither empty nor full.
class MadeAhead {
 public:
  // `blocks` are made by `maker`, which must outlive it and is its alone.
  MadeAhead(SampleMaker& maker, std::shared_ptr<BlockPool> blocks,
            const BoundedQueue<OwnedBlock>::Limits& limits);
  ~MadeAhead();

  // Copies the next block into an empty one; false: nothing comes behind it. Rethrows what the maker threw.
  bool next(SampleBlock& block);

  QueueFill fill() const { return queue_.fill(); }

 private:
  void work();

  SampleMaker& maker_;
  const std::shared_ptr<BlockPool> blocks_;
  BoundedQueue<OwnedBlock> queue_;
  std::exception_ptr failure_;  // the thread's, until it has ended
  std::jthread thread_;
};

}  // namespace trainyard::train::ensemble
