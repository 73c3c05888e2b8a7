#include "ps/server.h"

#include "base/error.h"
#include "ps/applier.h"
#include "ps/member.h"
#include "ps/wire_numbers.h"

namespace trainyard::ps {
namespace {

namespace transport = comm::transport;

Sharing sharing_of(const ModeName& mode) {
  return mode.kind == ModeName::Kind::lazy          ? Sharing::snapshots
         : mode.kind == ModeName::Kind::lazy_locked ? Sharing::locked
                                                    : Sharing::one_thread;
}

class SocketServer final : public Server, public Mode::Host, public Member::Owner {
 public:
  SocketServer(transport::Loop& loop, const ServerOptions& options, const std::vector<Key>& keys,
               std::span<const float> parameters, Updater& updater, const transport::Address& address,
               const transport::JobKey* key, Log log)
      : loop_(loop),
        options_(options),
        welcome_(encode(Welcome{.elements = static_cast<std::int64_t>(parameters.size()),
                                .keys = static_cast<std::int32_t>(keys.size()),
                                .servers = options.servers,
                                .server = options.server})),
        shard_(keys, options.server, parameters, sharing_of(options.mode)),
        gradients_(static_cast<std::size_t>(shard_.elements())),
        updater_(updater),
        log_(std::move(log)),
        mode_(make_mode(options.mode, *this, shard_.elements())),
        listener_(transport::listen(
            loop, address, key, {},
            [this](std::unique_ptr<transport::Connection> peer) { meet(std::move(peer)); },
            [this](const std::string& who, const std::string& why) {
              log_(fmt::format("refused {}: {}", who, why));
            })) {
    if (sharing_of(options.mode) != Sharing::one_thread)
      applier_ = std::make_unique<Applier>(loop, shard_, updater);
    look_at_leases();
  }

  transport::Address address() const override { return listener_->address(); }
  Shard::Version parameters() const override { return shard_.newest(); }
  int live_workers() const override { return static_cast<int>(members_.size()); }

  ServerCounts counts() const override {
    ServerCounts counts = counts_;
    counts.updates = shard_.updates();
    for (const auto& member : met_) add_traffic(*member, counts);
    return counts;
  }

 private:
  void meet(std::unique_ptr<transport::Connection> peer) {
    if (peer->peer().role != static_cast<std::uint8_t>(Role::worker))
      return log_(fmt::format("refused {}: it is no worker", peer->address()));
    met_.push_back(std::make_unique<Member>(*this, shard_, gradients_, std::move(peer)));
  }

  // Mode::Host
  void apply(std::span<const float> gradient) override { shard_.apply(updater_, gradient); }

  void apply_beside(Mode::Gradient gradient, std::function<void()> done) override {
    const auto made_of = made_of_.extract(gradient.get());
    applier_->apply(std::move(gradient),
                    [this, of = made_of.mapped(), done = std::move(done)](std::int64_t updates) {
                      ++counts_.staleness[updates - of];
                      done();
                    });
  }

  void release(int worker) override {
    const auto found = members_.find(worker);
    if (found == members_.end()) return;
    Member& member = *found->second;
    const Shard::Version newest = shard_.newest();
    member.released(newest.updates);
    if (options_.bf16)
      send_weights(member, rounded(newest), newest.updates);
    else
      send_weights(member, newest.values, newest.updates);
  }

  template <typename Number>
  void send_weights(Member& member, const std::shared_ptr<const std::vector<Number>>& values,
                    std::int64_t updates) {
    for (const std::uint32_t key : shard_.keys()) {
      const bool last = key == shard_.keys().back();
      std::function<void()> keep;
      if (last) keep = [values] {};  // until all of it is sent
      member.connection().send(
          {.kind = wire(Kind::weights),
           .flags = static_cast<std::uint16_t>((options_.bf16 ? kBf16 : 0) | (last ? kLast : 0)),
           .epoch = member.epoch(),
           .key = key,
           .clock = static_cast<std::uint64_t>(updates)},
          std::as_bytes(shard_.slice(std::span<const Number>(*values), key)), std::move(keep));
    }
  }

  // A version in 16 bits, made once for all who get it.
  std::shared_ptr<const std::vector<BFloat16>> rounded(const Shard::Version& version) {
    if (rounded_ == nullptr || rounded_updates_ != version.updates) {
      auto made = std::make_shared<std::vector<BFloat16>>(version.values->size());
      round_numbers(*version.values, *made);
      rounded_ = std::move(made);
      rounded_updates_ = version.updates;
    }
    return rounded_;
  }

  // Member::Owner
  void joined(Member& member) override {
    // A process that comes again is believed to have lost the old connection, known here or not.
    if (const auto old = members_.find(member.worker()); old != members_.end()) {
      Member& gone_member = *old->second;
      gone_member.refuse("another process joined in its place");
      remove(gone_member, "another process joined in its place");
    }
    members_[member.worker()] = &member;
    ++counts_.joined;
    member.admit(++epochs_, next_clocks_[member.worker()]);
    member.connection().send({.kind = wire(Kind::welcome), .epoch = member.epoch(), .clock = member.clock()},
                             welcome_);
    mode_->join(member.worker());
    if (started_ || live_workers() < options_.workers) return;
    started_ = true;
    mode_->start();
  }

  void gradient_is_here(Member& member) override {
    // With one server it is complete; with several the worker says when all of them have all of it.
    if (options_.servers == 1) return committed(member);
    member.connection().send(
        {.kind = wire(Kind::received), .epoch = member.epoch(), .clock = member.clock()});
  }

  void committed(Member& member) override {
    if (!member.bad_keys().empty()) {
      ++counts_.refused_gradients;
      log_(fmt::format("{}: its gradient of step {} has numbers that are not finite, first in key {}",
                       member.name(), member.clock(), member.bad_keys().front()));
      return member.refuse("a gradient that is not finite");
    }
    ++counts_.gradients;
    Mode::Gradient gradient = member.take_gradient();
    next_clocks_[member.worker()] = member.clock();
    // What is applied beside may be applied later: how old it is then is known then.
    if (applier_ != nullptr)
      made_of_[gradient.get()] = member.released_updates();
    else
      ++counts_.staleness[shard_.updates() - member.released_updates()];
    mode_->commit(member.worker(), std::move(gradient));
  }

  void gone(Member& member, const std::string& reason) override {
    remove(member, reason);
    forget_departed();
  }

  void remove(Member& member, const std::string& reason) {
    const auto found = members_.find(member.worker());
    if (found == members_.end() || found->second != &member) return;
    members_.erase(found);
    ++counts_.left;
    log_(fmt::format("{} is out: {}", member.name(), reason));
    mode_->leave(member.worker());
  }

  // Those who are out; not now, for one of them may be speaking.
  void forget_departed() {
    if (forgetting_) return;
    forgetting_ = true;
    loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      forgetting_ = false;
      std::erase_if(met_, [this](const std::unique_ptr<Member>& member) {
        const auto found = members_.find(member->worker());
        const bool is_in = found != members_.end() && found->second == member.get();
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

  void look_at_leases() {
    std::vector<Member*> silent;
    for (const auto& [worker, member] : members_) {
      if (member->connection().seconds_since_heard() > options_.lease_seconds)
        silent.push_back(member);
      else
        member->connection().send({.kind = wire(Kind::heartbeat), .epoch = member->epoch()});
    }
    for (Member* member : silent) {
      const std::string reason = fmt::format("it said nothing for {} s", options_.lease_seconds);
      member->refuse(reason, true);
      remove(*member, reason);
    }
    forget_departed();
    lease_timer_ = loop_.after(options_.lease_seconds / 4, [this] { look_at_leases(); });
  }

  transport::Loop& loop_;
  ServerOptions options_;
  WelcomeBytes welcome_;
  Shard shard_;
  BufferPool gradients_;
  Updater& updater_;
  Log log_;
  std::unique_ptr<Mode> mode_;
  bool started_ = false, forgetting_ = false;
  std::uint32_t epochs_ = 0;
  std::map<int, std::uint64_t> next_clocks_;  // by worker, also of those that are out
  std::vector<std::unique_ptr<Member>> met_;  // everyone, also those that are out and not forgotten yet
  std::map<int, Member*> members_;            // those who are in, by worker
  std::shared_ptr<const std::vector<BFloat16>> rounded_;
  std::int64_t rounded_updates_ = -1;
  ServerCounts counts_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  // Of gradients to be applied beside: how many updates were in the weights that they were made of.
  std::map<const std::vector<float>*, std::int64_t> made_of_;
  std::unique_ptr<Applier> applier_;  // null: all is applied on the loop
  std::unique_ptr<transport::Loop::Timer> lease_timer_;
  std::unique_ptr<transport::Listener> listener_;
};

}  // namespace

std::unique_ptr<Server> make_server(transport::Loop& loop, const ServerOptions& options,
                                    const std::vector<Key>& keys, std::span<const float> parameters,
                                    Updater& updater, const transport::Address& address,
                                    const transport::JobKey* key, Server::Log log) {
  return std::make_unique<SocketServer>(loop, options, keys, parameters, updater, address, key,
                                        std::move(log));
}

}  // namespace trainyard::ps
