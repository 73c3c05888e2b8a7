#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/transport/address.h"
#include "comm/transport/handshake.h"
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

// Counters of a client, for the record of a run.
struct ClientCounts {
  std::int64_t gradients = 0, dropped_gradients = 0, joins = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
};

// A worker's side. Talks on a thread of its own, straight from and to the worker's arrays; the worker calls
// it from one thread.
class Client {
 public:
  using Log = std::function<void(const std::string&)>;

  virtual ~Client() = default;  // leaves

  struct Weights {
    bool done = false;         // nothing is left to do; the rest does not matter
    std::int64_t updates = 0;  // that are in them
    std::int64_t batch = 0;    // of which a gradient is to be made
    // Whether the gradient before was taken. When not, because the worker had to join again, nothing of it
    // was: its samples are still to be used.
    bool counted = true;
    // When the gradient before had left, when the first of these weights came, and the last: by
    // now_seconds().
    double pushed = 0, first_came = 0, came = 0;
  };
  // Waits until `parameters` holds the weights for the next gradient; the first call waits for the first
  // weights. Error (peer) that names who is missing.
  virtual Weights wait_for_weights() = 0;
  // The batch after that, if it is known yet; it may still come otherwise.
  virtual std::optional<std::int64_t> next_batch() const = 0;
  // Sends further facts about the gradient to the leader's watcher. Call it before the last part of the
  // gradient is ready.
  virtual void note(std::span<const std::byte> bytes) = 0;
  // These elements of `gradients` are as they will be: what is complete is sent.
  virtual void ready(std::int64_t first, std::int64_t elements) = 0;

  virtual ClientCounts counts() const = 0;
};

// `parameters` and `gradients` are the worker's whole arrays, and outlive the client. `key` as in listen().
std::unique_ptr<Client> make_client(const ClientOptions& options, const std::vector<Key>& keys,
                                    const comm::transport::JobKey* key, std::span<float> parameters,
                                    std::span<const float> gradients, Client::Log log);

}  // namespace trainyard::ps
