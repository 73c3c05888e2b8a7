#pragma once

#include "data/recipe/preprocess.h"
#include "data/source/record_set.h"
#include "data/view/batch_maker.h"
#include "ensemble/bounded_queue.h"
#include "ensemble/shared_stream.h"
#include "ensemble/sharing.h"

namespace trainyard::ensemble {

// Batches of all records of a set, in their order, preprocessed for evaluation. A damaged image is black and
// has the label -1.
class RecordBatches final : public data::BatchMaker {
 public:
  // REQUIRES: a pass of evaluation.
  RecordBatches(std::shared_ptr<const data::RecordSet> records,
                std::shared_ptr<const data::Preprocessor> preprocessor,
                const data::BatchStreamOptions& options);

  Shape input_shape() const override;
  DType input_type() const override { return DType::f32; }
  std::int64_t steps() const override;
  Scratch scratch() const override {
    return Scratch(static_cast<std::size_t>(preprocessor_->sample_bytes()));
  }

 private:
  std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                    Scratch& scratch) const override;

  const std::shared_ptr<const data::RecordSet> records_;
  const std::shared_ptr<const data::Preprocessor> preprocessor_;
};

// The samples of one member, block by block, however they come. Used by one thread.
class MemberStream {
 public:
  virtual ~MemberStream() = default;

  // Valid until release(). Null: that was all. Error (peer) when those who make or pass them are lost.
  virtual const SampleBlock* next() = 0;
  virtual void release() = 0;  // before the next next()

  // Ends the member's demand, so that it keeps nobody waiting; what others need is still passed on. The
  // thread that calls next() calls it.
  virtual void leave() = 0;

  // Returns the fill of the queue of ready blocks. Any thread may call it.
  virtual QueueFill fill() const = 0;
  double wait_seconds() const { return fill().pop_wait_seconds; }  // in next(), so far
};

// Takes part in a design from a thread of its own, which goes on while the member computes, until `ahead`
// lies full. When the stream goes, it waits for the members that want more. `sharing.deliver` is its own.
std::unique_ptr<MemberStream> take_part(Design design, Sharing sharing, comm::collective::Job& job,
                                        const BoundedQueue<OwnedBlock>::Limits& ahead);

// Reads what another process of this machine writes (shared_stream.h).
std::unique_ptr<MemberStream> read_in_place(std::shared_ptr<SharedReader> reader, double patience_seconds);

}  // namespace trainyard::ensemble
