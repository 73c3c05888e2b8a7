#include "train/ensemble/sample_maker.h"

#include <algorithm>

#include "base/error.h"
#include "base/philox.h"
#include "meter/thread_times.h"

namespace trainyard::train::ensemble {

SampleMaker::SampleMaker(const SampleSource& source, int threads)
    : source_(source), reader_(source.records, source.read), threads_(threads) {
  threads_.run([](int thread) {
    if (thread > 0) meter::name_thread("maker");
  });
}

bool SampleMaker::make(SampleBlock& block) {
  TRAINYARD_CHECK(block.sizes().sample_bytes == source_.preprocessor->sample_bytes());
  records_.clear();
  places_.clear();
  bool more = true;
  while (more && !block.full()) {
    const std::optional<records::Record> record = reader_.next();
    more = record.has_value();
    if (!more) break;
    places_.push_back(block.add(
        {.id = record->id, .position = record->position, .epoch = record->epoch, .label = record->label}));
    records_.push_back(*record);
  }
  sound_.assign(records_.size(), 1);
  next_ = 0;
  threads_.run([this](int) {
    for (std::size_t i; (i = next_.fetch_add(1)) < records_.size();) make_one(i, places_[i]);
  });
  const auto lost = std::count(sound_.begin(), sound_.end(), 0);
  if (lost > 0) block.keep(sound_);
  skipped_images_ += lost;
  made_ += block.count();
  return more;
}

void SampleMaker::make_one(std::size_t number, std::uint8_t* place) {
  const records::Record& record = records_[number];
  // What is random about a sample is the same for all who see it.
  const std::uint64_t seed = mix_streams(source_.read.seed, static_cast<std::uint64_t>(record.position));
  try {
    source_.preprocessor->train(record.encoded, seed, place);
  } catch (const Error& error) {
    if (source_.read.damage == records::Damage::refuse)
      fail(error.kind(), "record {}: {}", record.id, error.what());
    sound_[number] = 0;
  }
}

}  // namespace trainyard::train::ensemble
