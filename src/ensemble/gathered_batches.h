#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/device.h"
#include "backend/input.h"
#include "ensemble/shared_stream.h"
#include "ensemble/stream_batches.h"

namespace trainyard::ensemble {

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
  mutable std::mutex mutex_;
  mutable std::deque<std::pair<std::int64_t, std::int64_t>> through_;  // after this step, with so many blocks
};

}  // namespace trainyard::ensemble
