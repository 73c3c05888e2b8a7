#pragma once

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

  void add_traffic(ServerCounts& counts) const;

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

// Roster holds the workers of a server: those that are connected, that want to join, and that are in. One
// that is in may have no connection any more: it is in until all servers know that it is not.
class Roster {
 public:
  void meet(std::unique_ptr<Member> member) { met_.push_back(std::move(member)); }
  // Returns all members, also those that are out and not forgotten yet.
  const std::vector<std::unique_ptr<Member>>& met() const { return met_; }
  // Forgets members that are out and closed; their traffic is added to `counts`. Must not be called from
  // within the call of one.
  void forget_departed(ServerCounts& counts);

  // The member wants to join; another one of its worker that does is refused.
  void arrive(Member& member);
  // Returns false when it did not want to join.
  bool stop_arriving(const Member& member);
  std::vector<int> arriving() const;  // workers

  // The worker is in. Returns null when its connection is gone.
  Member* admit(int worker, std::uint32_t epoch);
  bool is_in(const Member& member) const;
  // Returns null when the worker is not in, or its connection is gone.
  Member* present(int worker) const;
  // Returns the member whose gradient counts by this event. REQUIRES: it is complete.
  Member& committer(const Event& commit) const;
  // The worker is out. Returns null when it had no connection. REQUIRES: it is in by this epoch.
  Member* remove(int worker, std::uint32_t epoch);
  // All are out. Returns those that had a connection.
  std::vector<Member*> remove_all();
  int size() const { return static_cast<int>(in_.size()); }

 private:
  struct Seat {
    Member* member = nullptr;
    std::uint32_t epoch = 0;
  };
  std::vector<std::unique_ptr<Member>> met_;
  std::map<int, Member*> arriving_;  // by worker
  std::map<int, Seat> in_;           // by worker
};

// Sends the newest weights of a shard to workers, straight from the version that is the newest.
class WeightsSender {
 public:
  // `bf16`: in 16 bits.
  WeightsSender(const Shard& shard, bool bf16) : shard_(shard), bf16_(bf16) {}

  // From now on the worker may push. Null: it is not there, and nothing is sent.
  void send_newest(Member* member);

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
