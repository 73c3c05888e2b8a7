#pragma once

#include <deque>

#include "backend/device.h"
#include "backend/input.h"
#include "base/mutex.h"
#include "data/recipe/preprocess.h"
#include "data/view/batch_maker.h"
#include "ensemble/member_stream.h"
#include "ensemble/shared_stream.h"

namespace trainyard::ensemble {

// Says how far a member got in the common order: for each share, the first position that it has not seen.
// Shares come in unlike order in some designs, so that one number would not do.
class StreamPlace {
 public:
  explicit StreamPlace(int shares);
  // Parses what text() wrote, for this number of shares or another. Error (config) when it is no place.
  static StreamPlace parse(const std::string& text, int shares);
  std::string text() const;

  bool has_seen(std::int64_t position) const {
    return position < next_[share_of(position)] || (earlier_ && earlier_->has_seen(position));
  }
  void see(std::int64_t position);
  const std::vector<std::int64_t>& next() const { return next_; }

 private:
  std::size_t share_of(std::int64_t position) const {
    return static_cast<std::size_t>(position) % next_.size();
  }
  // Returns the same place in an order that is cut into so many shares.
  StreamPlace cut_into(int shares) const;
  bool is_past(const StreamPlace& other) const;  // has seen all that the other has

  std::vector<std::int64_t> next_;
  std::shared_ptr<const StreamPlace> earlier_;  // with other shares; until this is past it
};

// Batches of what a member's stream brings, in its order: one pass, step by step, so by one thread. What
// the member has seen before is left out.
class StreamBatches : public data::BatchMaker {
 public:
  struct How {
    std::shared_ptr<const data::Preprocessor> preprocessor;
    // Mirrors half of the images, by a seed of the member's own; none: they stay as all members get them.
    std::optional<std::uint64_t> mirror_seed;
    std::int64_t steps = 0;  // of the run: batches behind them are not made
  };

  StreamBatches(std::shared_ptr<MemberStream> stream, const How& how, const StreamPlace& place,
                data::BatchStreamOptions options);

  Shape input_shape() const override;
  DType input_type() const override { return DType::f32; }
  std::int64_t steps() const override { return how_.steps; }
  Scratch scratch() const override {
    return Scratch(static_cast<std::size_t>(how_.preprocessor->sample_bytes()));
  }

  // Returns the place after so many steps. REQUIRES: the batch of the last of them was made, not long ago.
  StreamPlace place_after(std::int64_t steps) const;

 protected:
  const How& how() const { return how_; }
  bool is_mirrored(std::int64_t position) const;
  std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                    Scratch& scratch) const override;

 private:
  // Sample `at` of the block as image `i` of the batch.
  virtual void put(const SampleBlock& block, std::int64_t at, std::int64_t i, std::byte* inputs,
                   Scratch& scratch) const;

  const std::shared_ptr<MemberStream> stream_;
  const How how_;
  // Making a batch takes it from the stream. Only the thread that makes them uses these.
  mutable const SampleBlock* block_ = nullptr;
  mutable std::int64_t next_in_block_ = 0;
  mutable StreamPlace place_;

  mutable Mutex mutex_;
  mutable std::int64_t next_step_ TRAINYARD_GUARDED_BY(mutex_);
  mutable std::deque<StreamPlace> places_
      TRAINYARD_GUARDED_BY(mutex_);  // after the last steps, the newest last
};

// Batches of samples that one process copies to a GPU for all of its members there: of each this says only
// where it lies (backend::GatheredSample), and the GPU makes the floats. Blocks are given back when the GPU
// has used them.
class GatheredBatches final : public StreamBatches {
 public:
  // `samples`: those of the reader's stream. It holds as many blocks as blocks_held() says.
  GatheredBatches(std::shared_ptr<SharedReader> reader, double patience_seconds,
                  std::shared_ptr<backend::OpenedMemory> samples, const How& how, const StreamPlace& place,
                  const data::BatchStreamOptions& options);

  Shape input_shape() const override { return {options().batch, 2}; }
  DType input_type() const override { return DType::i32; }
  Scratch scratch() const override { return {}; }
  bool lends() const override { return true; }
  void used(std::int64_t step) const override;

  // Returns the parameters that the GPU's gather kernel needs.
  backend::SampleGather gather() const;
  std::byte* samples() const { return samples_->data(); }

  // Returns the most blocks held, for a feed of so many places (train::kFeedPlaces).
  static std::int64_t blocks_held(std::int64_t batch, std::int64_t block, int places);

 private:
  class Lent;
  GatheredBatches(std::shared_ptr<Lent> lent, std::shared_ptr<backend::OpenedMemory> samples, const How& how,
                  const StreamPlace& place, const data::BatchStreamOptions& options);

  std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                    Scratch& scratch) const override;
  void put(const SampleBlock& block, std::int64_t at, std::int64_t i, std::byte* inputs,
           Scratch& scratch) const override;

  const std::shared_ptr<Lent> lent_;
  const std::shared_ptr<backend::OpenedMemory> samples_;
  mutable Mutex mutex_;
  // After this step, with so many blocks.
  mutable std::deque<std::pair<std::int64_t, std::int64_t>> through_ TRAINYARD_GUARDED_BY(mutex_);
};

}  // namespace trainyard::ensemble
