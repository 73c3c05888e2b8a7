#pragma once

#include <map>
#include <memory>
#include <optional>

#include "ps/peer.h"

namespace trainyard::ps {

// The other servers as the lead sees them: which are here, what counts for each, which have agreed.
class Followers {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void heard_from_follower(int number, const comm::transport::Frame& frame,
                                     std::span<const std::byte> payload) = 0;
    virtual void follower_is_lost(int number, const std::string& reason) = 0;
  };

  Followers(Owner& owner, int count) : owner_(owner), count_(count) {}

  bool has(int number) const { return all_.contains(number); }
  void meet(int number, std::unique_ptr<comm::transport::Connection> connection);
  // Hangs up on all of them. Not from within a call of one.
  void clear() { all_.clear(); }

  void say(const comm::transport::Frame& frame, const Bytes& payload = {});
  // The first that said nothing for so long.
  std::optional<int> silent(double seconds);

  // All are here, and have said what counts for them.
  bool have_ledgers() const;
  // Of what they have said and `own`. REQUIRES: they have.
  const Ledger& longest_ledger(const Ledger& own) const;
  // Each is told what it has not.
  void say_history(const Ledger& longest);
  bool have_agreed() const;

 private:
  struct Follower {
    std::unique_ptr<Peer> peer;
    std::optional<Ledger> ledger;
    bool agreed = false;
  };
  void heard(int number, const comm::transport::Frame& frame, std::span<const std::byte> payload);

  Owner& owner_;
  int count_;
  std::map<int, Follower> all_;
};

}  // namespace trainyard::ps
