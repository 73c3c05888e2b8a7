#include "train/ensemble/member_stream.h"

#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "meter/thread_times.h"

namespace trainyard::train::ensemble {
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

}  // namespace trainyard::train::ensemble
