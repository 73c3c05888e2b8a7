#include "ps/server/server.h"

#include "base/clock.h"
#include "base/error.h"
#include "ps/server/lead.h"
#include "ps/server/member.h"
#include "ps/server/replica.h"
#include "ps/server/shard.h"

namespace trainyard::ps {
namespace {

namespace transport = comm::transport;
using transport::Frame;

class SocketServer final : public Server,
                           public Member::Owner,
                           public Lead::Host,
                           public Followers::Owner,
                           public LeadLink::Owner {
 public:
  SocketServer(transport::Loop& loop, const ServerOptions& options, const std::vector<Key>& keys,
               Updater& updater, const transport::Address& address, const transport::JobKey* key, Log log)
      : loop_(loop),
        options_(options),
        key_(key != nullptr ? *key : transport::JobKey()),
        welcome_(encode(Welcome{.elements = keys.empty() ? 0 : keys.back().end(),
                                .keys = static_cast<std::int32_t>(keys.size()),
                                .servers = options.servers,
                                .server = options.server})),
        log_(std::move(log)),
        refusals_(log_),
        replica_(loop, options, keys, updater, [this](int worker) { released(worker); }),
        sender_(replica_.shard(), options.bf16),
        followers_(*this, options.servers - 1),
        link_(*this, loop, key_, options.server),
        listener_(transport::listen(
            loop, replica_.as_before(address), key, {},
            [this](std::unique_ptr<transport::Connection> peer) { meet(std::move(peer)); },
            [this](const std::string& who, const std::string& why) {
              refusals_.add(who, why, now_seconds());
            })) {
    replica_.keep_port(listener_->address().port);
    if (options.server == 0)
      lead_.emplace(*this, LeadOptions{.servers = options.servers,
                                       .workers = options.workers,
                                       .least_workers = options.least_workers,
                                       .patience_seconds = options.patience_seconds,
                                       .batches = options.batches});
    look_at_leases();
  }

  transport::Address address() const override { return listener_->address(); }
  bool has_begun() const override { return replica_.has_begun(); }
  void begin(std::span<const float> parameters, std::span<const float> slots,
             const LedgerStart& start) override {
    replica_.begin(parameters, slots, start);
  }
  void connect(const std::vector<transport::Address>& servers) override {
    TRAINYARD_CHECK(has_begun() && static_cast<int>(servers.size()) == options_.servers);
    lead_address_ = servers.front();
    connected_ = true;
    if (!lead_) return link_.call(lead_address_);
    lead_->suspend(now_seconds());  // it waits for the others
    agree_when_complete();
  }

  const Shard& shard() const override { return replica_.shard(); }
  int live_workers() const override { return static_cast<int>(seats_.size()); }
  void watch(Watcher watcher) override { watcher_ = std::move(watcher); }
  void halt() override {
    TRAINYARD_CHECK(lead_.has_value());
    lead_->halt();
    settle();
  }
  void snapshot(std::int64_t updates, OnSnapshot on_snapshot) override {
    replica_.snapshot(updates, std::move(on_snapshot));
  }

  ServerCounts counts() const override {
    ServerCounts counts = counts_;
    counts.updates = shard().updates();
    counts.apply_nanoseconds = static_cast<std::int64_t>(1e9 * replica_.apply_seconds());
    counts.elements = shard().elements();
    for (const auto& member : met_) add_traffic(*member, counts);
    return counts;
  }

 private:
  // A worker that is in. Its connection may be gone already: it is in until all servers know that it is not.
  struct Seat {
    Member* member = nullptr;
    std::uint32_t epoch = 0;
  };

  void meet(std::unique_ptr<transport::Connection> peer) {
    const transport::Hello who = peer->peer();
    if (who.role == static_cast<std::uint8_t>(Role::worker) && who.id < Ledger::kMostWorkers) {
      met_.push_back(std::make_unique<Member>(*this, shard(), replica_.gradients(), std::move(peer)));
      return;
    }
    if (who.role == static_cast<std::uint8_t>(Role::server) && lead_ && who.id > 0 &&
        static_cast<int>(who.id) < options_.servers)
      return meet_follower(static_cast<int>(who.id), std::move(peer));
    refusals_.add(peer->address(), fmt::format("role {}, number {}", who.role, who.id), now_seconds());
  }

  // These functions tell the leader, in this process or another, which workers want to join, which are lost,
  // and whose gradient is complete.

  void wants_to_join(Member& member) override {
    if (const auto old = arriving_.find(member.worker()); old != arriving_.end() && old->second != &member)
      old->second->refuse("another process joined in its place");
    arriving_[member.worker()] = &member;
    tell_seen(member.worker());
  }

  void tell_seen(int worker) {
    if (lead_) {
      lead_->seen(0, worker);
      return settle();
    }
    link_.seen(worker);
  }

  void gradient_is_here(Member& member) override {
    std::optional<std::uint32_t> bad_key;
    if (!member.bad_keys().empty()) {
      bad_key = member.bad_keys().front();
      ++counts_.refused_gradients;
      log_(fmt::format("{}: its gradient of step {} has numbers that are not finite, first in key {}",
                       member.name(), member.clock(), *bad_key));
    } else {
      replica_.keep(*member.gradient(), member.worker(), member.clock());
    }
    if (lead_) {
      lead_->prepared(0, member.worker(), member.epoch(), member.clock(), bad_key);
      return settle();
    }
    link_.prepared(member.worker(), member.epoch(), member.clock(), bad_key);
  }

  void gone(Member& member, const std::string& reason, bool may_return) override {
    if (const auto found = arriving_.find(member.worker());
        found != arriving_.end() && found->second == &member) {
      arriving_.erase(found);
      tell_lost(member.worker(), 0, reason, true);
    } else if (const auto seat = seats_.find(member.worker());
               seat != seats_.end() && seat->second.member == &member) {
      tell_lost(member.worker(), member.epoch(), reason, may_return);
    }
    forget_departed();
  }

  void tell_lost(int worker, std::uint32_t epoch, const std::string& reason, bool may_return) {
    if (lead_) {
      lead_->lost(0, worker, epoch, reason, may_return);
      return settle();
    }
    link_.lost(worker, epoch, reason, may_return);
  }

  // These functions perform events, in the leader's order.

  void happen(const Event& event) override {
    followers_.say({.kind = wire(Kind::event)}, encode(event));
    do_event(event);
  }

  void do_event(const Event& event) {
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

  void admit(const Event& event) {
    const int worker = static_cast<int>(event.worker);
    ++counts_.joined;
    const auto arrived = arriving_.extract(worker);
    seats_[worker] = {.member = arrived.empty() ? nullptr : arrived.mapped(), .epoch = event.epoch};
    if (!arrived.empty()) {
      Member& member = *arrived.mapped();
      member.admit(event.epoch, event.clock);
      member.connection().send({.kind = wire(Kind::welcome), .epoch = event.epoch, .clock = event.clock},
                               welcome_);
    }
    replica_.join(worker);
    // The worker was here when the leader was told, and is not any more.
    if (arrived.empty()) tell_lost(worker, event.epoch, "its connection is gone", true);
  }

  void commit(const Event& event) {
    const int worker = static_cast<int>(event.worker);
    const auto seat = seats_.find(worker);
    TRAINYARD_CHECK(seat != seats_.end() && seat->second.member != nullptr);
    Member& member = *seat->second.member;
    TRAINYARD_CHECK(member.clock() == event.clock && member.gradient_complete());
    ++counts_.gradients;
    const std::int64_t updates = replica_.ledger().updates();
    const std::int64_t staleness = updates - member.released_updates();
    ++counts_.staleness[staleness];
    counts_.most_waiting = std::max(counts_.most_waiting, replica_.waiting() + 1);
    if (lead_ && watcher_.noted)
      watcher_.noted({.worker = event.worker,
                      .clock = event.clock,
                      .batch = event.batch,
                      .updates = updates,
                      .staleness = staleness,
                      .nanoseconds = static_cast<std::int64_t>(1e9 * now_seconds()),
                      .waiting = static_cast<std::int32_t>(replica_.waiting())},
                     member.note());
    replica_.commit(worker, event.clock, event.batch, member.take_gradient());
  }

  void remove(const Event& event) {
    const int worker = static_cast<int>(event.worker);
    const auto seat = seats_.find(worker);
    TRAINYARD_CHECK(seat != seats_.end() && seat->second.epoch == event.epoch);
    Member* member = seat->second.member;
    seats_.erase(seat);
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

  // The mode lets a worker go on: on a follower at once, on the leader when there is a batch for it.
  void released(int worker) {
    if (!lead_) return send_weights(worker);
    lead_->release(worker);
    settle_soon();
  }

  // Lead::Host
  const Ledger& ledger() const override { return replica_.ledger(); }

  void lend(int worker, std::int64_t batch) override {
    Member* member = member_of(worker);
    if (member != nullptr)
      member->connection().send(
          {.kind = wire(Kind::lease), .epoch = member->epoch(), .clock = static_cast<std::uint64_t>(batch)});
  }

  void send_done(int worker) override {
    Member* member = member_of(worker);
    if (member != nullptr) member->connection().send({.kind = wire(Kind::done), .epoch = member->epoch()});
  }

  void finished(const std::string& failure) override {
    if (watcher_.finished) watcher_.finished(replica_.ledger().updates(), failure);
  }

  void send_weights(int worker) override {
    if (Member* member = member_of(worker)) sender_.send_newest(*member);
  }

  Member* member_of(int worker) {
    const auto seat = seats_.find(worker);
    if (seat == seats_.end() || seat->second.member == nullptr || seat->second.member->is_closed())
      return nullptr;
    return seat->second.member;
  }

  void settle() {
    lead_->settle();
    if (std::exchange(lending_, true)) return;
    // This is posted behind the work in progress: a worker that goes on now is served first.
    post([this] {
      lending_ = false;
      lead_->lend_ahead();
    });
  }

  void settle_soon() {
    if (std::exchange(settling_, true)) return;
    post([this] {
      settling_ = false;
      settle();
    });
  }

  // These functions connect the leader and the other servers.

  void meet_follower(int number, std::unique_ptr<transport::Connection> connection) {
    if (followers_.has(number)) suspend(fmt::format("server {} came again", number));
    log_(fmt::format("server {} ({}) is here", number, connection->address()));
    followers_.meet(number, std::move(connection));
  }

  void follower_is_lost(int number, const std::string& reason) override {
    suspend(fmt::format("server {} is lost: {}", number, reason));
  }

  void heard_from_follower(int number, const Frame& frame, std::span<const std::byte> payload) override {
    if (suspending_) return;  // it is about to be hung up on
    const int worker = static_cast<int>(frame.key);
    switch (static_cast<Kind>(frame.kind)) {
      case Kind::ledger:
        return agree_when_complete();
      case Kind::agreed:
        return begin_when_agreed();
      case Kind::seen:
        lead_->seen(number, worker);
        return settle();
      case Kind::lost:
        lead_->lost(number, worker, frame.epoch, text_of(payload), (frame.flags & kReturn) != 0);
        return settle();
      case Kind::prepared:
        lead_->prepared(number, worker, frame.epoch, frame.clock,
                        (frame.flags & kBad) != 0 ? std::optional(frame.sender) : std::nullopt);
        return settle();
      default:
        return;
    }
  }

  // Every server states what counts for it; a server that has less is told the rest.
  void agree_when_complete() {
    if (!connected_ || lead_->is_active() || !followers_.have_ledgers()) return;
    const Ledger& longest = followers_.longest_ledger(replica_.ledger());
    followers_.say_history(longest);
    if (&longest != &replica_.ledger()) replica_.take_history(longest.since(replica_.ledger().updates()));
    restart_replica();
    begin_when_agreed();
  }

  void begin_when_agreed() {
    if (lead_->is_active() || !followers_.have_agreed()) return;
    lead_->begin(now_seconds());
    for (const auto& [worker, member] : std::map(arriving_)) tell_seen(worker);
  }

  void restart_replica() {
    kept_.clear();
    replica_.restart();
  }

  // A server is missing: all workers are removed, and may join again. Gradients that they promised are kept
  // until all servers agree on what counts.
  void suspend(const std::string& reason) {
    if (suspending_) return;
    suspending_ = true;
    log_(fmt::format("interrupted: {}", reason));
    ++counts_.interruptions;
    if (lead_) lead_->suspend(now_seconds());
    link_.disagree();
    for (auto& [worker, seat] : std::exchange(seats_, {})) {
      if (seat.member == nullptr) continue;
      if (seat.member->gradient_complete()) kept_.push_back(seat.member->gradient());
      seat.member->refuse("a server is missing", true);
    }
    // This must not run within the call of one of them.
    post([this] {
      suspending_ = false;
      followers_.clear();
      forget_departed();
      if (lead_) return;
      link_.hang_up();
      link_.call(lead_address_);
    });
  }

  void lead_is_here() override { link_.say({.kind = wire(Kind::ledger)}, encode(replica_.ledger())); }
  void lead_is_lost(const std::string& reason) override { suspend("server 0 is lost: " + reason); }

  void heard_from_lead(const Frame& frame, std::span<const std::byte> payload) override {
    if (suspending_) return;
    switch (static_cast<Kind>(frame.kind)) {
      case Kind::history:
        replica_.take_history(decode_history(payload));
        restart_replica();
        link_.agree();
        for (const auto& [worker, member] : std::map(arriving_)) tell_seen(worker);
        return;
      case Kind::event:
        return do_event(decode_event(payload));
      default:
        return;
    }
  }

  // These functions depend on time.

  void look_at_leases() {
    // A process that was suspended itself has not listened, so it must not blame its peers' silence.
    const double looked = std::exchange(looked_, now_seconds());
    const bool listened = looked_ - looked < options_.lease_seconds / 2;
    const auto silent = [&](transport::Connection& connection) {
      return listened && connection.seconds_since_heard() > options_.lease_seconds;
    };
    const std::string reason = fmt::format("it said nothing for {} s", options_.lease_seconds);
    for (const auto& member : met_) {
      if (member->is_closed()) continue;
      if (!silent(member->connection()))
        member->connection().send({.kind = wire(Kind::heartbeat), .epoch = member->epoch()});
      else if (member_of(member->worker()) == member.get())
        tell_lost(member->worker(), member->epoch(), reason, true);
      else
        member->connection().close(reason);  // whatever it has not taken yet
    }
    followers_.say({.kind = wire(Kind::heartbeat)});
    if (const auto number = followers_.silent(options_.lease_seconds); number && listened)
      suspend(fmt::format("server {}: {}", *number, reason));
    if (link_.is_here() && !suspending_) {
      link_.say({.kind = wire(Kind::heartbeat)});
      if (listened && link_.seconds_since_heard() > options_.lease_seconds) suspend("server 0: " + reason);
    }
    if (lead_) {
      lead_->look_at_time(now_seconds());
      settle();
    }
    refusals_.look(looked_);
    forget_departed();
    lease_timer_ = loop_.after(options_.lease_seconds / 4, [this] { look_at_leases(); });
  }

  // Drops workers that are removed; it is deferred, because one of them may be calling.
  void forget_departed() {
    if (std::exchange(forgetting_, true)) return;
    post([this] {
      forgetting_ = false;
      std::erase_if(met_, [this](const std::unique_ptr<Member>& member) {
        const auto seat = seats_.find(member->worker());
        const bool is_in = seat != seats_.end() && seat->second.member == member.get();
        if (is_in || !member->is_closed()) return false;
        add_traffic(*member, counts_);
        return true;
      });
    });
  }

  static void add_traffic(const Member& member, ServerCounts& counts) {
    counts.bytes_received += member.connection().traffic().bytes_received;
    counts.bytes_sent += member.connection().traffic().bytes_sent;
  }

  template <typename Work>
  void post(Work work) {
    loop_.post([alive = std::weak_ptr<bool>(alive_), work = std::move(work)] {
      if (!alive.expired()) work();
    });
  }

  transport::Loop& loop_;
  ServerOptions options_;
  transport::JobKey key_;
  Bytes welcome_;
  Log log_;
  RefusalLog refusals_;
  Watcher watcher_;
  Replica replica_;
  WeightsSender sender_;
  std::optional<Lead> lead_;  // of server 0
  Followers followers_;       // of the leader
  LeadLink link_;             // of the others
  transport::Address lead_address_;
  std::unique_ptr<transport::Loop::Timer> lease_timer_;
  double looked_ = now_seconds();
  bool connected_ = false, suspending_ = false;
  bool forgetting_ = false, lending_ = false, settling_ = false;
  std::vector<std::shared_ptr<Buffer>> kept_;  // gradients that may count, of workers that are out
  std::vector<std::unique_ptr<Member>> met_;   // everyone, also those that are out and not forgotten yet
  std::map<int, Member*> arriving_;            // by worker: wants to join
  std::map<int, Seat> seats_;                  // by worker: is in
  ServerCounts counts_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<transport::Listener> listener_;
};

}  // namespace

std::unique_ptr<Server> make_server(transport::Loop& loop, const ServerOptions& options,
                                    const std::vector<Key>& keys, Updater& updater,
                                    const transport::Address& address, const transport::JobKey* key,
                                    Server::Log log) {
  return std::make_unique<SocketServer>(loop, options, keys, updater, address, key, std::move(log));
}

}  // namespace trainyard::ps
