#include "ensemble/gathered_batches.h"

#include <utility>

#include "base/error.h"

namespace trainyard::ensemble {
namespace {

constexpr std::int64_t kAhead = 1;  // choosing samples takes no time

data::BatchStreamOptions chosen_ahead(data::BatchStreamOptions options) {
  options.depth = kAhead;
  return options;
}

}  // namespace

// The reader's blocks, which stay when they were looked at.
class GatheredBatches::Lent final : public MemberStream {
 public:
  Lent(std::shared_ptr<SharedReader> reader, double patience_seconds)
      : reader_(std::move(reader)), patience_seconds_(patience_seconds) {}

  const SampleBlock* next() override {
    block_ = reader_->next(patience_seconds_);
    return block_ ? &*block_ : nullptr;
  }
  void release() override { ++looked_at_; }
  void leave() override { reader_->leave(); }
  QueueFill fill() const override { return reader_->fill(); }

  std::int64_t looked_at() const { return looked_at_; }
  std::int64_t index() const { return reader_->gpu_index(); }
  // Gives back all blocks but those behind the first so many.
  void give_back(std::int64_t blocks) {
    for (; given_back_ < blocks; ++given_back_) reader_->release();
  }

 private:
  const std::shared_ptr<SharedReader> reader_;
  const double patience_seconds_;
  std::optional<SampleBlock> block_;
  std::int64_t looked_at_ = 0, given_back_ = 0;
};

GatheredBatches::GatheredBatches(std::shared_ptr<SharedReader> reader, double patience_seconds,
                                 std::shared_ptr<backend::OpenedMemory> samples, const How& how,
                                 const StreamPlace& place, const data::BatchStreamOptions& options)
    : GatheredBatches(std::make_shared<Lent>(std::move(reader), patience_seconds), std::move(samples), how,
                      place, options) {}

GatheredBatches::GatheredBatches(std::shared_ptr<Lent> lent, std::shared_ptr<backend::OpenedMemory> samples,
                                 const How& how, const StreamPlace& place,
                                 const data::BatchStreamOptions& options)
    : StreamBatches(lent, how, place, chosen_ahead(options)),
      lent_(std::move(lent)),
      samples_(std::move(samples)) {}

backend::SampleGather GatheredBatches::gather() const {
  const data::Preprocessor& preprocessor = *how().preprocessor;
  const Shape& image = preprocessor.options().output;
  return {.batch = options().batch,
          .channels = image[0],
          .output = {image[1], image[2]},
          .map = preprocessor.pixel_map()};
}

std::int64_t GatheredBatches::blocks_held(std::int64_t batch, std::int64_t block, int places) {
  // These are the blocks of the batches in progress, and at each end one that another batch shares.
  return ((places + kAhead) * batch + block - 1) / block + 2;
}

std::int64_t GatheredBatches::fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                                   Scratch& scratch) const {
  const std::int64_t images = StreamBatches::fill(step, inputs, labels, scratch);
  const std::lock_guard lock(mutex_);
  through_.emplace_back(step, lent_->looked_at());
  return images;
}

void GatheredBatches::put(const SampleBlock& block, std::int64_t at, std::int64_t i, std::byte* inputs,
                          Scratch&) const {
  reinterpret_cast<backend::GatheredSample*>(inputs)[i] = {
      .index = static_cast<std::int32_t>(lent_->index() + at),
      .mirrored = is_mirrored(block.tag(at).position) ? 1 : 0};
}

void GatheredBatches::used(std::int64_t step) const {
  std::int64_t blocks = 0;
  {
    const std::lock_guard lock(mutex_);
    for (; !through_.empty() && through_.front().first <= step; through_.pop_front())
      blocks = through_.front().second;
  }
  lent_->give_back(blocks);
}

}  // namespace trainyard::ensemble
