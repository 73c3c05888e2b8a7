#include "ps/server/server.h"

#include "ps/server/follower.h"
#include "ps/server/leader.h"

namespace trainyard::ps {

namespace transport = comm::transport;

Server::Server(const ServerParts& parts)
    : loop_(parts.loop),
      options_(parts.options),
      log_(parts.log),
      replica_(parts.loop, parts.options, parts.keys, parts.updater,
               [this](int worker) { released(worker); }),
      sender_(replica_.shard(), parts.options.bf16),
      welcome_(encode(Welcome{.elements = parts.keys.empty() ? 0 : parts.keys.back().end(),
                              .keys = static_cast<std::int32_t>(parts.keys.size()),
                              .servers = parts.options.servers,
                              .server = parts.options.server})),
      refusals_(log_),
      looked_(now_seconds()),
      listener_(transport::listen(
          loop_, replica_.as_before(parts.address), parts.key, {},
          [this](std::unique_ptr<transport::Connection> peer) { meet(std::move(peer)); },
          [this](const std::string& who, const std::string& why) {
            refusals_.add(who, why, now_seconds());
          })) {
  replica_.keep_port(listener_->address().port);
  lease_timer_ = loop_.after(options_.lease_seconds / 4, [this] { look_at_leases(); });
}

ServerCounts Server::counts() const {
  ServerCounts counts = counts_;
  counts.updates = shard().updates();
  counts.apply_nanoseconds = static_cast<std::int64_t>(1e9 * replica_.apply_seconds());
  counts.elements = shard().elements();
  for (const auto& member : roster_.met()) member->add_traffic(counts);
  return counts;
}

void Server::meet(std::unique_ptr<transport::Connection> peer) {
  const transport::Hello who = peer->peer();
  if (who.role == static_cast<std::uint8_t>(Role::worker) && who.id < Ledger::kMostWorkers)
    return roster_.meet(std::make_unique<Member>(static_cast<Member::Owner&>(*this), shard(),
                                                 replica_.gradients(), std::move(peer)));
  if (who.role == static_cast<std::uint8_t>(Role::server) && who.id > 0 &&
      who.id < static_cast<std::uint32_t>(options_.servers) && meet_server(static_cast<int>(who.id), peer))
    return;
  refusals_.add(peer->address(), fmt::format("role {}, number {}", who.role, who.id), now_seconds());
}

// Reports of members. Each is passed on to the leader, in this process or another.

void Server::wants_to_join(Member& member) {
  roster_.arrive(member);
  seen(member.worker());
}

void Server::gradient_is_here(Member& member) {
  std::optional<std::uint32_t> bad_key;
  if (!member.bad_keys().empty()) {
    bad_key = member.bad_keys().front();
    ++counts_.refused_gradients;
    log_(fmt::format("{}: its gradient of step {} has numbers that are not finite, first in key {}",
                     member.name(), member.clock(), *bad_key));
  } else {
    replica_.keep(*member.gradient(), member.worker(), member.clock());
  }
  prepared(member.worker(), member.epoch(), member.clock(), bad_key);
}

void Server::gone(Member& member, const std::string& reason, bool may_return) {
  if (roster_.stop_arriving(member))
    lost(member.worker(), 0, reason, true);
  else if (roster_.is_in(member))
    lost(member.worker(), member.epoch(), reason, may_return);
  forget_departed();
}

void Server::report_arriving() {
  for (const int worker : roster_.arriving()) seen(worker);
}

// Events, in the leader's order.

void Server::perform(const Event& event) {
  const int worker = static_cast<int>(event.worker);
  switch (event.kind) {
    case Event::Kind::admit:
      return admit(event);
    case Event::Kind::start:
      return replica_.start();
    case Event::Kind::commit:
      return commit(event);
    case Event::Kind::rest:
      return replica_.leave(worker);
    case Event::Kind::resume:
      return replica_.join(worker);
    case Event::Kind::remove:
      return remove(event);
  }
}

void Server::admit(const Event& event) {
  const int worker = static_cast<int>(event.worker);
  ++counts_.joined;
  Member* const member = roster_.admit(worker, event.epoch);
  if (member != nullptr) {
    member->admit(event.epoch, event.clock);
    member->connection().send({.kind = wire(Kind::welcome), .epoch = event.epoch, .clock = event.clock},
                              welcome_);
  }
  replica_.join(worker);
  // The worker was here when the leader was told, and is not any more.
  if (member == nullptr) lost(worker, event.epoch, "its connection is gone", true);
}

void Server::commit(const Event& event) {
  const int worker = static_cast<int>(event.worker);
  Member& member = roster_.committer(event);
  ++counts_.gradients;
  ++counts_.staleness[replica_.ledger().updates() - member.released_updates()];
  counts_.most_waiting = std::max(counts_.most_waiting, replica_.waiting() + 1);
  replica_.commit(worker, event.clock, event.batch, member.take_gradient());
}

void Server::remove(const Event& event) {
  const int worker = static_cast<int>(event.worker);
  Member* const member = roster_.remove(worker, event.epoch);
  ++counts_.left;
  log_(fmt::format("{} is out: {}", member != nullptr ? member->name() : fmt::format("worker {}", worker),
                   event.reason));
  if (member != nullptr) {
    // It may take long to go, and come again with another gradient of this clock before.
    if (member->gradient() != nullptr) replica_.drop(*member->gradient());
    if (!member->is_closed()) member->refuse(event.reason, event.may_return);
  }
  replica_.leave(worker);
  forget_departed();
}

// Faults and time.

void Server::restart() {
  kept_.clear();
  replica_.restart();
}

void Server::suspend(const std::string& reason) {
  if (suspending_) return;
  suspending_ = true;
  log_(fmt::format("interrupted: {}", reason));
  ++counts_.interruptions;
  stop_agreeing();
  for (Member* member : roster_.remove_all()) {
    if (member->gradient_complete()) kept_.push_back(member->gradient());
    member->refuse("a server is missing", true);
  }
  // This must not run within the call of one of them.
  post([this] {
    suspending_ = false;
    forget_departed();
    meet_servers_again();
  });
}

void Server::look_at_leases() {
  // A process that was suspended itself has not listened, so it must not blame its peers' silence.
  const double looked = std::exchange(looked_, now_seconds());
  const bool listened = looked_ - looked < options_.lease_seconds / 2;
  look_at_members(listened);
  look_at_servers(listened);
  refusals_.look(looked_);
  forget_departed();
  lease_timer_ = loop_.after(options_.lease_seconds / 4, [this] { look_at_leases(); });
}

void Server::look_at_members(bool listened) {
  for (const auto& member : roster_.met()) {
    if (member->is_closed()) continue;
    if (!listened || member->connection().seconds_since_heard() <= options_.lease_seconds)
      member->connection().send({.kind = wire(Kind::heartbeat), .epoch = member->epoch()});
    else if (roster_.is_in(*member))
      lost(member->worker(), member->epoch(), silence(), true);
    else
      member->connection().close(silence());  // whatever it has not taken yet
  }
}

// Drops workers that are removed; it is deferred, because one of them may be calling.
void Server::forget_departed() {
  if (std::exchange(forgetting_, true)) return;
  post([this] {
    forgetting_ = false;
    roster_.forget_departed(counts_);
  });
}

std::unique_ptr<Server> make_server(transport::Loop& loop, const ServerOptions& options,
                                    const std::vector<Key>& keys, Updater& updater,
                                    const transport::Address& address, const transport::JobKey* key,
                                    Server::Log log) {
  const ServerParts parts{loop, options, keys, updater, address, key, std::move(log)};
  if (options.server == 0) return std::make_unique<Leader>(parts);
  return std::make_unique<Follower>(parts);
}

}  // namespace trainyard::ps
