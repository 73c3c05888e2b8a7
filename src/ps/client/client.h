#pragma once

#include <thread>

#include "base/mutex.h"
#include "comm/transport/listener.h"
#include "ps/client/link.h"
#include "ps/client/progress.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {

struct ClientOptions {
  int worker = 0;
  std::vector<comm::transport::Address> servers;  // by number
  bool bf16 = false;                              // how gradients are sent
  double heartbeat_seconds = 0.75;
  double lease_seconds = 3;     // a server that is silent for longer is lost
  double stall_seconds = 5;     // after which a wait is reported
  double give_up_seconds = 30;  // after which a server that cannot be reached ends the worker
  bool (*stop)() = nullptr;     // whether to wait for nothing more
};

// A client is a worker's side. It talks on a thread of its own, straight from and to the worker's arrays; the
// worker calls it from one thread.
class Client final : private Link::Owner {
 public:
  using Log = std::function<void(const std::string&)>;

  // `parameters` and `gradients` are the worker's whole arrays, and outlive the client. `key` as in listen().
  Client(const ClientOptions& options, const std::vector<Key>& keys, const comm::transport::JobKey* key,
         std::span<float> parameters, std::span<const float> gradients, Log log);
  ~Client() override;  // leaves
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  struct Weights {
    bool done = false;         // nothing is left to do; the rest does not matter
    std::int64_t updates = 0;  // that are in them
    std::int64_t batch = 0;    // of which a gradient is to be made
    // True when the gradient before was taken. It is false when the worker had to join again: then no part of
    // that gradient counts, and its samples are still to be used.
    bool counted = true;
    // When the gradient before had left, when the first of these weights came, and the last: by
    // now_seconds().
    double pushed = 0, first_came = 0, came = 0;
  };
  // Waits until `parameters` holds the weights for the next gradient; the first call waits for the first
  // weights. Error (peer) that names who is missing.
  Weights wait_for_weights() TRAINYARD_EXCLUDES(mutex_);
  // Returns the batch after that, if it is known yet; it may still come otherwise.
  std::optional<std::int64_t> next_batch() const TRAINYARD_EXCLUDES(mutex_);
  // Sends further facts about the gradient to the leader's watcher. Call it before the last part of the
  // gradient is ready.
  void note(std::span<const std::byte> bytes);
  // These elements of `gradients` are as they will be: what is complete is sent.
  void ready(std::int64_t first, std::int64_t elements);

  ClientCounts counts() const TRAINYARD_EXCLUDES(mutex_);

 private:
  // All of what follows runs on the loop's thread.
  void welcomed(Link& link) override;
  void weights_are_here(Link& link) override;
  void lent(Link& link, std::int64_t batch) override;
  void all_done(Link& link) override;
  void lost(Link& link, const std::string& reason, bool final) override;

  void talk();
  void call_server(std::size_t server);
  void call_again(const std::string& reason);
  bool is_current(const Link& link) const;
  template <typename Condition>
  bool all_links(const Condition& condition) const;
  void drop_links();
  void mark_ready(std::int64_t first, std::int64_t end);
  void push(std::size_t number, std::uint64_t clock);
  void send_heartbeats();
  void report_stall(double seconds);
  void leave();
  void stop_when_closed();
  void add_traffic(Link& link) TRAINYARD_EXCLUDES(mutex_);

  // May be called on both threads: takes the lock, and wakes up the worker.
  template <typename Change>
  void change(const Change& change_progress) TRAINYARD_EXCLUDES(mutex_);
  Progress::Stage stage() const TRAINYARD_EXCLUDES(mutex_);
  std::uint64_t clock() const TRAINYARD_EXCLUDES(mutex_);

  ClientOptions options_;
  const std::vector<Key> keys_;
  comm::transport::JobKey key_;
  std::span<float> parameters_;
  std::span<const float> gradients_;
  Log log_;

  comm::transport::Loop loop_;
  std::vector<std::unique_ptr<Link>> links_;                   // by server; null: not connected
  std::vector<std::unique_ptr<Link>> dropped_;                 // until their last call is over
  std::vector<std::unique_ptr<comm::transport::Call>> calls_;  // by server
  std::unique_ptr<comm::transport::Loop::Timer> retry_, heartbeat_, last_resort_;
  std::vector<BFloat16> rounded_;
  std::vector<std::int64_t> remaining_;  // elements of each key that are not ready
  Bytes note_;
  std::size_t unsent_ = 0;  // keys
  double lost_since_ = 0, looked_;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  Progress progress_ TRAINYARD_GUARDED_BY(mutex_);
  Weights newest_ TRAINYARD_GUARDED_BY(mutex_);  // but what progress_ knows
  std::uint64_t bytes_sent_ TRAINYARD_GUARDED_BY(mutex_) = 0, bytes_received_
                                                              TRAINYARD_GUARDED_BY(mutex_) = 0;

  std::thread thread_;
};

}  // namespace trainyard::ps
