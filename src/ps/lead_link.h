#pragma once

#include <memory>
#include <optional>

#include "comm/transport/listener.h"
#include "ps/peer.h"

namespace trainyard::ps {

// The lead as the other servers see it.
class LeadLink {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void lead_is_here() = 0;
    virtual void heard_from_lead(const comm::transport::Frame& frame, std::span<const std::byte> payload) = 0;
    virtual void lead_is_lost(const std::string& reason) = 0;
  };

  LeadLink(Owner& owner, comm::transport::Loop& loop, const comm::transport::JobKey& key, int server)
      : owner_(owner), loop_(loop), key_(key), server_(server) {}

  // Until it answers.
  void call(const comm::transport::Address& lead);
  // Not from within its call.
  void hang_up() { peer_.reset(); }

  bool is_here() const { return peer_ != nullptr; }
  double seconds_since_heard() const { return peer_->connection().seconds_since_heard(); }
  void say(const comm::transport::Frame& frame, Bytes payload = {}) { peer_->say(frame, std::move(payload)); }

  void agree();
  void disagree() { agreed_ = false; }
  // Nothing of this is said unless both agree on what counts.
  void seen(int worker);
  void lost(int worker, std::uint32_t epoch, const std::string& reason, bool may_return);
  void prepared(int worker, std::uint32_t epoch, std::uint64_t clock, std::optional<std::uint32_t> bad_key);

 private:
  Owner& owner_;
  comm::transport::Loop& loop_;
  comm::transport::JobKey key_;
  int server_;
  std::unique_ptr<Peer> peer_;
  std::unique_ptr<comm::transport::Call> call_;
  std::unique_ptr<comm::transport::Loop::Timer> retry_;
  bool agreed_ = false;
};

}  // namespace trainyard::ps
