#pragma once

#include <atomic>
#include <exception>
#include <thread>

#include "data/recipe/preprocess.h"
#include "data/source/record_reader.h"
#include "ensemble/bounded_queue.h"
#include "ensemble/sample_block.h"
#include "train/session/device_threads.h"

namespace trainyard::ensemble {

// The origin of the samples and their preprocessing.
struct SampleSource {
  std::shared_ptr<const data::RecordSet> records;
  data::ReadOptions read;
  std::shared_ptr<const data::Preprocessor> preprocessor;
};

// Makes samples of records by threads: reads, decodes, preprocesses. What it makes depends on the source
// alone, not on threads or the sizes of blocks. Used by one thread at a time.
class SampleMaker {
 public:
  SampleMaker(const SampleSource& source, int threads);

  // Fills an empty block, in the order of positions. Samples that are damaged are left out and counted, or
  // the first of them ends it with an Error, as the source says. False: nothing comes behind it.
  bool make(SampleBlock& block);

  std::int64_t made() const { return made_; }
  std::int64_t skipped() const { return skipped_images_ + reader_.skipped(); }

 private:
  void make_one(std::size_t number, std::uint8_t* place);

  const SampleSource source_;
  data::RecordReader reader_;
  train::DeviceThreads threads_;
  std::vector<data::Record> records_;  // of the block that is being made
  std::vector<std::uint8_t*> places_;
  std::vector<char> sound_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::int64_t> made_{0}, skipped_images_{0};
};

// Blocks that a thread of its own makes ahead of the thread that passes them on, so that neither waits for
// the other while the queue is neither empty nor full.
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

}  // namespace trainyard::ensemble
