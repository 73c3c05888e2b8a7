#include "ps/client/client.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "comm/transport/listener.h"
#include "ps/wire/link.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {
namespace {

namespace transport = comm::transport;

class SocketClient final : public Client, public Link::Owner {
 public:
  SocketClient(const ClientOptions& options, const std::vector<Key>& keys, const transport::JobKey* key,
               std::span<float> parameters, std::span<const float> gradients, Log log)
      : options_(options),
        keys_(keys),
        key_(key != nullptr ? *key : transport::JobKey()),
        parameters_(parameters),
        gradients_(gradients),
        log_(std::move(log)),
        links_(options.servers.size()),
        calls_(options.servers.size()),
        rounded_(options.bf16 ? gradients.size() : 0) {
    TRAINYARD_CHECK(parameters.size() == gradients.size() && !links_.empty());
    join_all();
    send_heartbeats();
    thread_ = std::thread([this] { talk(); });
  }

  ~SocketClient() override {
    loop_.post([this] {
      ending_ = true;
      heartbeat_.reset();
      retry_.reset();
      for (auto& call : calls_) call.reset();
      for (const auto& link : links_)
        if (link != nullptr) {
          if (link->is_welcome()) link->send(Kind::leave, clock_);
          link->connection().close("this worker ends", true);
        }
      // A server that takes nothing any more must not hold it up.
      last_resort_ = loop_.after(1, [this] { loop_.stop(); });
      stop_when_closed();
    });
    thread_.join();
  }

  Weights wait_for_weights() override {
    std::unique_lock lock(mutex_);
    computes_ = false;
    loop_.post([this] {
      if (!joined_or_joining_) call_again("it was lost while this worker computed");
    });
    const double began = now_seconds();
    double reported = began;
    while (!delivered_ && !done_ && failure_.empty()) {
      if (options_.stop != nullptr && options_.stop()) return {.done = true};
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      if (delivered_ || done_ || !failure_.empty() || now_seconds() - reported < options_.stall_seconds)
        continue;
      reported = now_seconds();
      loop_.post([this, seconds = reported - began] { report_stall(seconds); });
    }
    if (done_) {
      if (std::exchange(took_weights_, false)) ++(counted_ ? counts_.gradients : counts_.dropped_gradients);
      return {.done = true};
    }
    if (!failure_.empty()) fail(ErrorKind::peer, "worker {}: {}", options_.worker, failure_);
    delivered_ = false;
    computes_ = at_stake_ = true;
    if (std::exchange(took_weights_, true)) ++(counted_ ? counts_.gradients : counts_.dropped_gradients);
    return {.updates = updates_,
            .batch = batch_,
            .counted = std::exchange(counted_, true),
            .pushed = pushed_at_,
            .first_came = first_came_at_,
            .came = came_at_};
  }

  std::optional<std::int64_t> next_batch() const override {
    const std::lock_guard lock(mutex_);
    return leases_.empty() ? std::nullopt : std::optional(leases_.front());
  }

  void note(std::span<const std::byte> bytes) override {
    loop_.post([this, note = Bytes(bytes.begin(), bytes.end())]() mutable {
      note_ = std::move(note);
      if (computing_) links_[0]->send(Kind::note, clock_, 0, 0, note_);
    });
  }

  void ready(std::int64_t first, std::int64_t elements) override {
    loop_.post([this, first, elements] { mark_ready(first, first + elements); });
  }

  ClientCounts counts() const override {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  // All of what follows runs on the loop's thread.

  void talk() {
    try {
      loop_.run();
    } catch (const Error& error) {
      give_up(error.what());
    }
  }

  void join_all() {
    for (std::size_t server = 0; server < links_.size(); ++server) call_server(server);
  }

  void call_server(std::size_t server) {
    calls_[server] = transport::call(
        loop_, options_.servers[server], &key_,
        {.role = static_cast<std::uint8_t>(Role::worker), .id = static_cast<std::uint32_t>(options_.worker)},
        {},
        [this, server](std::unique_ptr<transport::Connection> peer) {
          links_[server] =
              std::make_unique<Link>(*this, static_cast<int>(server), keys_, parameters_, std::move(peer));
          links_[server]->send(Kind::join, clock_);
        },
        [this](const std::string& reason) { call_again(reason); });
  }

  void call_again(const std::string& reason) {
    joined_or_joining_ = true;
    if (lost_since_ == 0) lost_since_ = now_seconds();
    if (now_seconds() - lost_since_ > options_.give_up_seconds)
      return give_up(fmt::format("no server for {} s: {}", options_.give_up_seconds, reason));
    retry_ = loop_.after(0.1, [this] {
      for (std::size_t server = 0; server < links_.size(); ++server)
        if (links_[server] == nullptr) call_server(server);
    });
  }

  // Link::Owner
  void welcomed(Link&) override {
    if (!all_links([](const Link& link) { return link.is_welcome(); })) return;
    lost_since_ = 0;
    // The servers' clock is authoritative: if they expect this gradient next, they have not taken it before.
    const std::uint64_t next = links_[0]->clock();
    const std::lock_guard lock(mutex_);
    ++counts_.joins;
    if (std::exchange(at_stake_, false)) counted_ = next > clock_;
    clock_ = next;
  }

  void lent(std::int64_t batch) override {
    const std::lock_guard lock(mutex_);
    leases_.push_back(batch);
  }

  void all_done() override {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }

  void weights_are_here(Link&) override {
    if (!all_links([](const Link& link) { return link.is_welcome() && link.has_weights(); })) return;
    for (const auto& link : links_) link->take_weights();
    remaining_.clear();
    for (const Key& key : keys_) remaining_.push_back(key.elements);
    unsent_ = keys_.size();
    computing_ = true;
    const std::lock_guard lock(mutex_);
    if (std::exchange(pushed_, false)) {
      ++clock_;
      at_stake_ = false;
    }
    updates_ = links_[0]->updates();
    came_at_ = now_seconds();
    first_came_at_ = came_at_;
    for (const auto& link : links_) first_came_at_ = std::min(first_came_at_, link->first_came_at());
    if (leases_.empty()) return give_up_locked("server 0 sent weights and no batch");
    batch_ = leases_.front();
    leases_.pop_front();
    delivered_ = true;
    changed_.notify_all();
  }

  void lost(Link& link, const std::string& reason, bool final) override {
    const auto server = static_cast<std::size_t>(link.server());
    add_traffic(link);
    if (ending_)
      // Not from within the link's own call.
      return loop_.post([this, server] {
        links_[server].reset();
        stop_when_closed();
      });
    log_(fmt::format("server {} ({}) is lost: {}", server, options_.servers[server].to_string(), reason));
    // All servers drop the work in progress alike, so what the others still send is of no use.
    pushed_ = computing_ = false;
    breaking_ = true;
    if (final) {
      give_up(fmt::format("server {}: {}", server, reason));
      return loop_.post([this, server] {
        links_[server].reset();
        if (ending_) stop_when_closed();
      });
    }
    for (const auto& other : links_)
      if (other != nullptr && other.get() != &link) add_traffic(*other);
    joined_or_joining_ = false;
    loop_.post([this, reason] {
      for (auto& old : links_) old.reset();
      breaking_ = false;
      if (ending_) return stop_when_closed();  // since it was lost
      {
        // Weights come right behind a welcome: not while the worker still computes with those it has.
        const std::lock_guard lock(mutex_);
        delivered_ = false;
        leases_.clear();
        if (computes_ || done_) return;
      }
      call_again(reason);
    });
  }

  template <typename Condition>
  bool all_links(const Condition& condition) const {
    return !breaking_ && std::all_of(links_.begin(), links_.end(), [&](const std::unique_ptr<Link>& link) {
      return link != nullptr && condition(*link);
    });
  }

  void mark_ready(std::int64_t first, std::int64_t end) {
    // A gradient of weights that are not valid any more is not sent.
    if (!computing_) return;
    auto key =
        std::partition_point(keys_.begin(), keys_.end(), [&](const Key& k) { return k.end() <= first; });
    for (; key != keys_.end() && key->first < end; ++key) {
      const auto number = static_cast<std::size_t>(key - keys_.begin());
      remaining_[number] -= std::min(end, key->end()) - std::max(first, key->first);
      TRAINYARD_CHECK(remaining_[number] >= 0);
      if (remaining_[number] == 0) push(number);
    }
  }

  void push(std::size_t number) {
    const Key& key = keys_[number];
    const auto at = static_cast<std::size_t>(key.first), count = static_cast<std::size_t>(key.elements);
    std::span<const std::byte> payload = std::as_bytes(gradients_.subspan(at, count));
    if (options_.bf16) {
      const auto rounded = std::span(rounded_).subspan(at, count);
      round_numbers(gradients_.subspan(at, count), rounded);
      payload = std::as_bytes(rounded);
    }
    std::function<void()> sent;
    if (--unsent_ == 0)
      sent = [this] {
        const std::lock_guard lock(mutex_);
        pushed_at_ = now_seconds();
      };
    links_[static_cast<std::size_t>(key.server)]->send(Kind::push, clock_, static_cast<std::uint32_t>(number),
                                                       options_.bf16 ? kBf16 : std::uint16_t{0}, payload,
                                                       std::move(sent));
    if (unsent_ > 0) return;
    computing_ = false;
    pushed_ = true;
  }

  void send_heartbeats() {
    // A process that was suspended itself has not listened, so it must not blame the servers' silence.
    const double looked = std::exchange(looked_, now_seconds());
    const bool listened = looked_ - looked < options_.heartbeat_seconds + options_.lease_seconds / 4;
    for (const auto& link : links_) {
      if (link == nullptr) continue;
      link->send(Kind::heartbeat, clock_);
      if (listened && link->connection().seconds_since_heard() > options_.lease_seconds)
        link->connection().close(fmt::format("it said nothing for {} s", options_.lease_seconds));
    }
    heartbeat_ = loop_.after(options_.heartbeat_seconds, [this] { send_heartbeats(); });
  }

  void report_stall(double seconds) {
    std::string missing;
    for (std::size_t server = 0; server < links_.size(); ++server)
      if (links_[server] == nullptr || !links_[server]->has_weights())
        missing += fmt::format("{}server {} ({}{})", missing.empty() ? "" : ", ", server,
                               options_.servers[server].to_string(),
                               links_[server] == nullptr ? ", not connected" : "");
    log_(fmt::format("step {}: no weights for {:.1f} s from {}", clock_, seconds, missing));
  }

  void give_up(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    give_up_locked(reason);
  }

  void give_up_locked(const std::string& reason) {
    failure_ = reason;
    changed_.notify_all();
  }

  void add_traffic(Link& link) {
    const std::lock_guard lock(mutex_);
    counts_.bytes_sent += link.connection().traffic().bytes_sent;
    counts_.bytes_received += link.connection().traffic().bytes_received;
  }

  void stop_when_closed() {
    if (std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link == nullptr; }))
      loop_.stop();
  }

  ClientOptions options_;
  const std::vector<Key> keys_;
  transport::JobKey key_;
  std::span<float> parameters_;
  std::span<const float> gradients_;
  Log log_;

  transport::Loop loop_;
  std::vector<std::unique_ptr<Link>> links_;             // by server; null: not connected
  std::vector<std::unique_ptr<transport::Call>> calls_;  // by server
  std::unique_ptr<transport::Loop::Timer> retry_, heartbeat_, last_resort_;
  std::vector<BFloat16> rounded_;
  std::vector<std::int64_t> remaining_;  // elements of each key that are not ready
  Bytes note_;
  std::size_t unsent_ = 0;   // keys
  std::uint64_t clock_ = 0;  // of the gradient that is made or on its way
  double lost_since_ = 0, looked_ = now_seconds();
  bool joined_or_joining_ = true, ending_ = false;
  bool computing_ = false, pushed_ = false;  // keys of this gradient may be sent; all of them were
  bool breaking_ = false;                    // a link was lost, and all of them will go

  mutable std::mutex mutex_;  // of what both threads touch
  std::condition_variable changed_;
  bool delivered_ = false;     // weights that the worker has not taken yet
  bool computes_ = false;      // the worker took weights, and does not wait for others
  bool took_weights_ = false;  // once at least
  bool at_stake_ = false;      // whether the gradient of the weights it took counts is not known
  bool counted_ = true;        // whether the last gradient of which that is known does
  bool done_ = false;          // nothing is left to do
  std::int64_t updates_ = 0;   // that are in the weights
  std::int64_t batch_ = 0;     // for them
  double pushed_at_ = 0, first_came_at_ = 0, came_at_ = 0;
  std::deque<std::int64_t> leases_;  // of batches after that
  std::string failure_;
  ClientCounts counts_;

  std::thread thread_;
};

}  // namespace

std::unique_ptr<Client> make_client(const ClientOptions& options, const std::vector<Key>& keys,
                                    const transport::JobKey* key, std::span<float> parameters,
                                    std::span<const float> gradients, Client::Log log) {
  return std::make_unique<SocketClient>(options, keys, key, parameters, gradients, std::move(log));
}

}  // namespace trainyard::ps
