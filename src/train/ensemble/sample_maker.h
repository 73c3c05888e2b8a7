#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "image/preprocess.h"
#include "records/record_reader.h"
#include "train/device_threads.h"
#include "train/ensemble/sample_block.h"

namespace trainyard::train::ensemble {

// Where samples come from, and what is made of them.
struct SampleSource {
  std::shared_ptr<const records::RecordSet> records;
  records::ReadOptions read;
  std::shared_ptr<const image::Preprocessor> preprocessor;
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
  records::RecordReader reader_;
  DeviceThreads threads_;
  std::vector<records::Record> records_;  // of the block that is being made
  std::vector<std::uint8_t*> places_;
  std::vector<char> sound_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::int64_t> made_{0}, skipped_images_{0};
};

}  // namespace trainyard::train::ensemble
