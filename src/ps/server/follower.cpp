#include "ps/server/follower.h"

namespace trainyard::ps {

namespace transport = comm::transport;
using transport::Frame;

Follower::Follower(const ServerParts& parts)
    : Server(parts), key_(parts.key != nullptr ? *parts.key : transport::JobKey()) {}

void Follower::connect(const std::vector<transport::Address>& servers) {
  TRAINYARD_CHECK(has_begun() && static_cast<int>(servers.size()) == options_.servers);
  leader_address_ = servers.front();
  call_leader();
}

void Follower::halt() {
  fail(ErrorKind::internal, "server {} was told to halt, and does not lead", options_.server);
}

// Calls until the leader answers.
void Follower::call_leader() {
  call_ = transport::call(
      loop_, leader_address_, &key_,
      {.role = static_cast<std::uint8_t>(Role::server), .id = static_cast<std::uint32_t>(options_.server)},
      {}, [this](std::unique_ptr<transport::Connection> connection) { meet_leader(std::move(connection)); },
      [this](const std::string&) { retry_ = loop_.after(0.1, [this] { call_leader(); }); });
}

void Follower::meet_leader(std::unique_ptr<transport::Connection> connection) {
  leader_ = std::make_unique<Peer>(
      std::move(connection),
      [this](const Frame& frame, std::span<const std::byte> payload) { heard(frame, payload); },
      [this](const std::string& reason) { suspend("server 0 is lost: " + reason); });
  leader_->say({.kind = wire(Kind::ledger)}, encode(replica_.ledger()));
}

void Follower::meet_servers_again() {
  leader_.reset();
  call_leader();
}

void Follower::heard(const Frame& frame, std::span<const std::byte> payload) {
  if (is_suspending()) return;
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::history:
      replica_.take_history(decode_history(payload));
      restart();
      agreed_ = true;
      leader_->say({.kind = wire(Kind::agreed)});
      return report_arriving();
    case Kind::event:
      return perform(decode_event(payload));
    default:
      return;
  }
}

// Reports go out only while both agree on what counts.
void Follower::report(const Frame& frame, Bytes payload) {
  if (leader_ != nullptr && agreed_) leader_->say(frame, std::move(payload));
}

void Follower::seen(int worker) {
  report({.kind = wire(Kind::seen), .key = static_cast<std::uint32_t>(worker)});
}

void Follower::lost(int worker, std::uint32_t epoch, const std::string& reason, bool may_return) {
  const std::span<const std::byte> words = bytes_of(reason);
  report({.kind = wire(Kind::lost),
          .flags = may_return ? kReturn : std::uint16_t{0},
          .epoch = epoch,
          .key = static_cast<std::uint32_t>(worker)},
         {words.begin(), words.end()});
}

void Follower::prepared(int worker, std::uint32_t epoch, std::uint64_t clock,
                        std::optional<std::uint32_t> bad_key) {
  report({.kind = wire(Kind::prepared),
          .flags = bad_key ? kBad : std::uint16_t{0},
          .epoch = epoch,
          .sender = bad_key.value_or(0),
          .key = static_cast<std::uint32_t>(worker),
          .clock = clock});
}

void Follower::look_at_servers(bool listened) {
  if (leader_ == nullptr || is_suspending()) return;
  leader_->say({.kind = wire(Kind::heartbeat)});
  if (listened && leader_->connection().seconds_since_heard() > options_.lease_seconds)
    suspend("server 0: " + silence());
}

}  // namespace trainyard::ps
