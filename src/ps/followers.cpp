#include "ps/followers.h"

#include <algorithm>
#include <utility>

namespace trainyard::ps {

using comm::transport::Frame;

void Followers::meet(int number, std::unique_ptr<comm::transport::Connection> connection) {
  all_[number].peer = std::make_unique<Peer>(
      std::move(connection),
      [this, number](const Frame& frame, std::span<const std::byte> payload) {
        heard(number, frame, payload);
      },
      [this, number](const std::string& reason) { owner_.follower_is_lost(number, reason); });
}

void Followers::heard(int number, const Frame& frame, std::span<const std::byte> payload) {
  const auto found = all_.find(number);
  if (found == all_.end()) return;
  if (frame.kind == wire(Kind::ledger)) found->second.ledger = decode_ledger(payload);
  if (frame.kind == wire(Kind::agreed)) found->second.agreed = true;
  owner_.heard_from_follower(number, frame, payload);
}

void Followers::say(const Frame& frame, const Bytes& payload) {
  for (auto& [number, follower] : all_) follower.peer->say(frame, payload);
}

std::optional<int> Followers::silent(double seconds) {
  for (const auto& [number, follower] : all_)
    if (follower.peer->connection().seconds_since_heard() > seconds) return number;
  return std::nullopt;
}

bool Followers::have_ledgers() const {
  return static_cast<int>(all_.size()) == count_ &&
         std::all_of(all_.begin(), all_.end(), [](const auto& one) { return one.second.ledger.has_value(); });
}

const Ledger& Followers::longest_ledger(const Ledger& own) const {
  const Ledger* longest = &own;
  for (const auto& [number, follower] : all_)
    if (follower.ledger->updates() > longest->updates()) longest = &*follower.ledger;
  return *longest;
}

void Followers::say_history(const Ledger& longest) {
  for (auto& [number, follower] : all_)
    follower.peer->say({.kind = wire(Kind::history)}, encode(longest.since(follower.ledger->updates())));
}

bool Followers::have_agreed() const {
  return static_cast<int>(all_.size()) == count_ &&
         std::all_of(all_.begin(), all_.end(), [](const auto& one) { return one.second.agreed; });
}

}  // namespace trainyard::ps
