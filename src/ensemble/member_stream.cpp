#include "ensemble/member_stream.h"

#include <exception>
#include <thread>

#include "meter/cpu.h"

namespace trainyard::ensemble {

RecordBatches::RecordBatches(std::shared_ptr<const data::RecordSet> records,
                             std::shared_ptr<const data::Preprocessor> preprocessor,
                             const data::BatchStreamOptions& options)
    : BatchMaker(options), records_(std::move(records)), preprocessor_(std::move(preprocessor)) {
  TRAINYARD_CHECK(options.pass == data::Pass::evaluation);
}

Shape RecordBatches::input_shape() const {
  const Shape& image = preprocessor_->options().output;
  return {options().batch, image[0], image[1], image[2]};
}

std::int64_t RecordBatches::steps() const {
  return (records_->size() + options().batch - 1) / options().batch;
}

std::int64_t RecordBatches::fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                                 Scratch& scratch) const {
  const std::int64_t batch = options().batch, first = step * batch,
                     valid = std::min(batch, records_->size() - first),
                     image_floats = preprocessor_->options().output.elements();
  float* place = reinterpret_cast<float*>(inputs);
  for (std::int64_t i = 0; i < batch; ++i, place += image_floats) {
    // A short last batch is filled up with its last image.
    try {
      const data::Record record = records_->read(first + std::min(i, valid - 1));
      preprocessor_->evaluate(record.encoded, scratch.data());
      labels[i] = record.label;
    } catch (const Error&) {
      std::fill(scratch.begin(), scratch.end(), std::uint8_t{0});
      labels[i] = -1;
    }
    preprocessor_->normalise(scratch.data(), place);
  }
  return valid;
}

namespace {

class PassedStream final : public MemberStream {
 public:
  PassedStream(Design design, Sharing sharing, comm::collective::Job& job,
               const BoundedQueue<OwnedBlock>::Limits& ahead)
      : ahead_(ahead) {
    sharing.deliver = [this](OwnedBlock block) {
      const auto bytes = static_cast<std::int64_t>(block->bytes().size());
      return ahead_.push(std::move(block), bytes);
    };
    thread_ = std::jthread([this, design, sharing = std::move(sharing), &job] {
      meter::name_thread("share");
      try {
        share(design, sharing, job);
      } catch (...) {
        failure_ = std::current_exception();
      }
      ahead_.close();
    });
  }
  ~PassedStream() override { ahead_.abandon(); }

  const SampleBlock* next() override {
    block_ = ahead_.pop();
    if (block_) return &**block_;
    thread_.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return nullptr;
  }
  void release() override { block_.reset(); }
  void leave() override {
    block_.reset();
    ahead_.abandon();
  }
  QueueFill fill() const override { return ahead_.fill(); }

 private:
  BoundedQueue<OwnedBlock> ahead_;
  std::optional<OwnedBlock> block_;
  std::exception_ptr failure_;  // the thread's, until it has ended
  std::jthread thread_;
};

class StreamInPlace final : public MemberStream {
 public:
  StreamInPlace(std::shared_ptr<SharedReader> reader, double patience_seconds)
      : reader_(std::move(reader)), patience_seconds_(patience_seconds) {}

  const SampleBlock* next() override {
    block_ = reader_->next(patience_seconds_);
    return block_ ? &*block_ : nullptr;
  }
  void release() override {
    block_.reset();
    reader_->release();
  }
  void leave() override {
    block_.reset();
    reader_->leave();
  }
  QueueFill fill() const override { return reader_->fill(); }

 private:
  std::shared_ptr<SharedReader> reader_;
  double patience_seconds_;
  std::optional<SampleBlock> block_;
};

}  // namespace

std::unique_ptr<MemberStream> take_part(Design design, Sharing sharing, comm::collective::Job& job,
                                        const BoundedQueue<OwnedBlock>::Limits& ahead) {
  return std::make_unique<PassedStream>(design, std::move(sharing), job, ahead);
}

std::unique_ptr<MemberStream> read_in_place(std::shared_ptr<SharedReader> reader, double patience_seconds) {
  return std::make_unique<StreamInPlace>(std::move(reader), patience_seconds);
}

}  // namespace trainyard::ensemble
