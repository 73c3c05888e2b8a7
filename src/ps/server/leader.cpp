#include "ps/server/leader.h"

namespace trainyard::ps {

namespace transport = comm::transport;
using transport::Frame;

Leader::Leader(const ServerParts& parts)
    : Server(parts),
      arbiter_(*this, {.servers = parts.options.servers,
                       .workers = parts.options.workers,
                       .least_workers = parts.options.least_workers,
                       .patience_seconds = parts.options.patience_seconds,
                       .batches = parts.options.batches}) {}

void Leader::connect(const std::vector<transport::Address>& servers) {
  TRAINYARD_CHECK(has_begun() && static_cast<int>(servers.size()) == options_.servers);
  connected_ = true;
  arbiter_.suspend(now_seconds());  // it waits for the others
  agree_when_complete();
}

void Leader::halt() {
  arbiter_.halt();
  settle();
}

// Reports of its own workers.

void Leader::seen(int worker) {
  arbiter_.seen(0, worker);
  settle();
}

void Leader::lost(int worker, std::uint32_t epoch, const std::string& reason, bool may_return) {
  arbiter_.lost(0, worker, epoch, reason, may_return);
  settle();
}

void Leader::prepared(int worker, std::uint32_t epoch, std::uint64_t clock,
                      std::optional<std::uint32_t> bad_key) {
  arbiter_.prepared(0, worker, epoch, clock, bad_key);
  settle();
}

// The worker goes on when there is a batch for it.
void Leader::released(int worker) {
  arbiter_.release(worker);
  settle_soon();
}

// The following functions are decisions of the arbiter.

void Leader::happen(const Event& event) {
  say_to_all({.kind = wire(Kind::event)}, encode(event));
  if (event.kind == Event::Kind::commit && watcher_.noted) note(event);
  perform(event);
}

void Leader::note(const Event& commit) {
  const Member& member = roster_.committer(commit);
  const std::int64_t updates = ledger().updates();
  watcher_.noted({.worker = commit.worker,
                  .clock = commit.clock,
                  .batch = commit.batch,
                  .updates = updates,
                  .staleness = updates - member.released_updates(),
                  .nanoseconds = static_cast<std::int64_t>(1e9 * now_seconds()),
                  .waiting = static_cast<std::int32_t>(replica_.waiting())},
                 member.note());
}

void Leader::lend(int worker, std::int64_t batch) {
  if (Member* member = roster_.present(worker))
    member->connection().send(
        {.kind = wire(Kind::lease), .epoch = member->epoch(), .clock = static_cast<std::uint64_t>(batch)});
}

void Leader::send_done(int worker) {
  if (Member* member = roster_.present(worker))
    member->connection().send({.kind = wire(Kind::done), .epoch = member->epoch()});
}

void Leader::finished(const std::string& failure) {
  if (watcher_.finished) watcher_.finished(ledger().updates(), failure);
}

void Leader::settle() {
  arbiter_.settle();
  if (std::exchange(lending_, true)) return;
  // This is posted behind the work in progress: a worker that goes on now is served first.
  post([this] {
    lending_ = false;
    arbiter_.lend_ahead();
  });
}

void Leader::settle_soon() {
  if (std::exchange(settling_, true)) return;
  post([this] {
    settling_ = false;
    settle();
  });
}

// The following functions deal with the followers.

bool Leader::meet_server(int number, std::unique_ptr<transport::Connection>& connection) {
  if (followers_.contains(number)) suspend(fmt::format("server {} came again", number));
  log_(fmt::format("server {} ({}) is here", number, connection->address()));
  followers_[number].peer = std::make_unique<Peer>(
      std::move(connection),
      [this, number](const Frame& frame, std::span<const std::byte> payload) {
        heard(number, frame, payload);
      },
      [this, number](const std::string& reason) {
        suspend(fmt::format("server {} is lost: {}", number, reason));
      });
  return true;
}

void Leader::heard(int number, const Frame& frame, std::span<const std::byte> payload) {
  if (is_suspending()) return;  // it is about to be hung up on
  Seat& follower = followers_.at(number);
  const int worker = static_cast<int>(frame.key);
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::ledger:
      follower.ledger = decode_ledger(payload);
      return agree_when_complete();
    case Kind::agreed:
      follower.agreed = true;
      return begin_when_agreed();
    case Kind::seen:
      arbiter_.seen(number, worker);
      return settle();
    case Kind::lost:
      arbiter_.lost(number, worker, frame.epoch, text_of(payload), (frame.flags & kReturn) != 0);
      return settle();
    case Kind::prepared:
      arbiter_.prepared(number, worker, frame.epoch, frame.clock,
                        (frame.flags & kBad) != 0 ? std::optional(frame.sender) : std::nullopt);
      return settle();
    default:
      return;
  }
}

void Leader::say_to_all(const Frame& frame, const Bytes& payload) {
  for (auto& [number, follower] : followers_) follower.peer->say(frame, payload);
}

template <typename Condition>
bool Leader::all_followers(const Condition& condition) const {
  return static_cast<int>(followers_.size()) == options_.servers - 1 &&
         std::all_of(followers_.begin(), followers_.end(),
                     [&](const auto& follower) { return condition(follower.second); });
}

// Every server states what counts for it; a server that has less is told the rest.
void Leader::agree_when_complete() {
  if (!connected_ || arbiter_.is_active() ||
      !all_followers([](const Seat& follower) { return follower.ledger.has_value(); }))
    return;
  const Ledger* longest = &ledger();
  for (const auto& [number, follower] : followers_)
    if (follower.ledger->updates() > longest->updates()) longest = &*follower.ledger;
  for (const auto& [number, follower] : followers_)
    follower.peer->say({.kind = wire(Kind::history)}, encode(longest->since(follower.ledger->updates())));
  if (longest != &ledger()) replica_.take_history(longest->since(ledger().updates()));
  restart();
  begin_when_agreed();
}

void Leader::begin_when_agreed() {
  if (arbiter_.is_active() || !all_followers([](const Seat& follower) { return follower.agreed; })) return;
  arbiter_.begin(now_seconds());
  report_arriving();
}

void Leader::stop_agreeing() { arbiter_.suspend(now_seconds()); }

void Leader::look_at_servers(bool listened) {
  say_to_all({.kind = wire(Kind::heartbeat)});
  for (const auto& [number, follower] : followers_)
    if (listened && follower.peer->connection().seconds_since_heard() > options_.lease_seconds) {
      suspend(fmt::format("server {}: {}", number, silence()));
      break;
    }
  arbiter_.look_at_time(now_seconds());
  settle();
}

}  // namespace trainyard::ps
