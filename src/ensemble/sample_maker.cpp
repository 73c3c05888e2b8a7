#include "ensemble/sample_maker.h"

#include "meter/cpu.h"

namespace trainyard::ensemble {

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
    const std::optional<data::Record> record = reader_.next();
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
  const data::Record& record = records_[number];
  // The random numbers of a sample are the same for all members that see it.
  const std::uint64_t seed = mix_streams(source_.read.seed, static_cast<std::uint64_t>(record.position));
  try {
    source_.preprocessor->train(record.encoded, seed, place);
  } catch (const Error& error) {
    if (source_.read.damage == data::Damage::refuse)
      fail(error.kind(), "record {}: {}", record.id, error.what());
    sound_[number] = 0;
  }
}

MadeAhead::MadeAhead(SampleMaker& maker, std::shared_ptr<BlockPool> blocks,
                     const BoundedQueue<OwnedBlock>::Limits& limits)
    : maker_(maker), blocks_(std::move(blocks)), queue_(limits), thread_([this] { work(); }) {}

MadeAhead::~MadeAhead() { queue_.abandon(); }

void MadeAhead::work() {
  meter::name_thread("maker");
  try {
    for (bool more = true; more;) {
      OwnedBlock block = blocks_->take();
      more = maker_.make(*block);
      if (block->count() == 0) continue;
      const auto bytes = static_cast<std::int64_t>(block->bytes().size());
      if (!queue_.push(std::move(block), bytes)) break;
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  queue_.close();
}

bool MadeAhead::next(SampleBlock& block) {
  std::optional<OwnedBlock> made = queue_.pop();
  if (!made) {
    if (thread_.joinable()) thread_.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return false;
  }
  const std::span<std::byte> bytes = (*made)->bytes();
  std::copy(bytes.begin(), bytes.end(), block.bytes().data());
  return true;
}

}  // namespace trainyard::ensemble
