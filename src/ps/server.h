#pragma once

#include <functional>
#include <map>
#include <string>

#include "comm/transport/listener.h"
#include "ps/mode.h"
#include "ps/shard.h"

namespace trainyard::ps {

struct ServerOptions {
  int server = 0;  // which one of them
  int servers = 1;
  int workers = 1;  // training starts when so many have joined
  ModeName mode;
  bool bf16 = false;         // how weights are sent
  double lease_seconds = 3;  // a worker that is silent for longer is taken for dead
};

// What a server saw, for the record of a run.
struct ServerCounts {
  std::int64_t updates = 0, gradients = 0, refused_gradients = 0, joined = 0, left = 0;
  std::uint64_t bytes_received = 0, bytes_sent = 0;
  // By how many updates the parameters had moved on when a gradient was applied.
  std::map<std::int64_t, std::int64_t> staleness;
};

// One server: keeps its shard, takes gradients, and lets workers go on as the mode says. Lives on the thread
// of its loop.
class Server {
 public:
  using Log = std::function<void(const std::string&)>;

  virtual ~Server() = default;
  virtual comm::transport::Address address() const = 0;
  virtual ServerCounts counts() const = 0;
  virtual Shard::Version parameters() const = 0;
  virtual int live_workers() const = 0;
};

// `key` as in listen(). `log` gets one line for whatever a person may want to know.
std::unique_ptr<Server> make_server(comm::transport::Loop& loop, const ServerOptions& options,
                                    const std::vector<Key>& keys, std::span<const float> parameters,
                                    Updater& updater, const comm::transport::Address& address,
                                    const comm::transport::JobKey* key, Server::Log log);

}  // namespace trainyard::ps
