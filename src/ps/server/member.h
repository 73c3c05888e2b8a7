#pragma once

#include <functional>
#include <set>
#include <string>

#include "comm/transport/connection.h"
#include "ps/server/shard.h"
#include "ps/wire/messages.h"
#include "tensor/tensor.h"

namespace trainyard::ps {

// A worker as a server sees it: reads its messages, checks that they are allowed now, and assembles its
// gradient. The server decides what follows.
class Member final : public comm::transport::Receiver {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void wants_to_join(Member& member) = 0;
    virtual void gradient_is_here(Member& member) = 0;  // all keys of this server
    virtual void gone(Member& member, const std::string& reason, bool may_return) = 0;
  };

  // `buffers`: each has as many numbers as the shard.
  Member(Owner& owner, const Shard& shard, BufferPool& buffers,
         std::unique_ptr<comm::transport::Connection> connection);

  int worker() const { return worker_; }
  // "worker 3 (10.0.0.7:5012)", for messages.
  std::string name() const;
  comm::transport::Connection& connection() { return *connection_; }
  const comm::transport::Connection& connection() const { return *connection_; }

  // It is in: from now on it speaks by this epoch, and pushes the gradient of this clock next.
  void admit(std::uint32_t epoch, std::uint64_t clock);
  bool admitted() const { return epoch_ != 0; }
  std::uint32_t epoch() const { return epoch_; }
  std::uint64_t clock() const { return clock_; }

  // The weights of so many updates were sent to it: it may push.
  void released(std::int64_t updates);
  std::int64_t released_updates() const { return released_updates_; }
  const std::shared_ptr<Buffer>& gradient() const { return gradient_; }
  bool gradient_complete() const { return gradient_ != nullptr && missing_.empty(); }
  // The gradient counts, and is the caller's; the next one is of the next clock.
  std::shared_ptr<const Buffer> take_gradient();
  // Keys of the gradient with numbers that are not finite.
  const std::vector<std::uint32_t>& bad_keys() const { return bad_keys_; }
  const Bytes& note() const { return note_; }

  // Tells it why, and whether it may join again, and ends the connection; gone() follows.
  void refuse(const std::string& reason, bool may_return = false);
  bool is_closed() const { return closed_; }

  std::span<std::byte> room_for(const comm::transport::Frame& frame) override;
  void arrived(const comm::transport::Frame& frame, std::span<std::byte> payload) override;
  void closed(const std::string& reason) override;

 private:
  // "", or why the frame is not taken now.
  std::string objection(const comm::transport::Frame& frame) const;
  void take_key(const comm::transport::Frame& frame);
  void expect_all_keys();

  Owner& owner_;
  const Shard& shard_;
  BufferPool& buffers_;
  std::unique_ptr<comm::transport::Connection> connection_;
  int worker_;
  std::uint32_t epoch_ = 0;
  std::uint64_t clock_ = 0;
  std::int64_t released_updates_ = 0;
  bool wants_in_ = false, may_push_ = false, refused_ = false, closed_ = false;
  std::string objection_, refusal_;
  std::shared_ptr<Buffer> gradient_;  // null unless it may push
  Bytes note_;
  std::vector<BFloat16> rounded_;
  std::vector<std::byte> ignored_;
  std::set<std::uint32_t> missing_;      // keys of this clock
  std::vector<std::uint32_t> bad_keys_;  // the same
};

// Logs refused callers: some lines a minute, then only how many there were. A caller that tries often must
// not fill a disk.
class RefusalLog {
 public:
  using Log = std::function<void(const std::string&)>;
  static constexpr int kMostLines = 10;
  static constexpr double kSeconds = 60;

  explicit RefusalLog(Log log) : log_(std::move(log)) {}

  void add(const std::string& who, const std::string& why, double now);
  // Logs the number of suppressed lines, when it is time to.
  void look(double now);

 private:
  Log log_;
  double since_ = 0;  // of the lines below
  int lines_ = 0, unsaid_ = 0;
};

// Sends the newest weights of a shard to workers, straight from the version that is the newest.
class WeightsSender {
 public:
  // `bf16`: in 16 bits.
  WeightsSender(const Shard& shard, bool bf16) : shard_(shard), bf16_(bf16) {}

  // From now on the worker may push.
  void send_newest(Member& member);

 private:
  template <typename Number>
  void send(Member& member, std::span<const Number> values, std::int64_t updates, std::function<void()> keep);
  std::shared_ptr<const std::vector<BFloat16>> rounded(const Shard::Version& version);

  const Shard& shard_;
  bool bf16_;
  std::shared_ptr<const std::vector<BFloat16>> rounded_;  // made once for all who get it
  std::int64_t rounded_updates_ = -1;
};

}  // namespace trainyard::ps
