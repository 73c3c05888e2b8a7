#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "comm/transport/listener.h"
#include "ps/mode/mode.h"
#include "ps/server/shard.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {

struct ServerOptions {
  int server = 0;  // which one of them; 0 leads
  int servers = 1;
  int workers = 1;               // training starts when so many have joined
  int least_workers = 1;         // with fewer for longer than `patience_seconds` it ends
  double patience_seconds = 30;  // also for a server that is missing
  std::int64_t batches = -1;     // to be used in all; negative: without end
  ModeName mode;
  bool bf16 = false;         // how weights are sent
  double lease_seconds = 3;  // a worker that is silent for longer is taken for dead
  // The file that keeps the state which must survive the process, and the run it belongs to; empty: no file.
  std::filesystem::path state = {};
  std::uint64_t run = 0;
};

// One server: keeps its shard, takes gradients, and lets workers go on as the mode says. Server 0 also
// decides for all. Lives on the thread of its loop.
class Server {
 public:
  using Log = std::function<void(const std::string&)>;

  // Receives the leader's reports.
  struct Watcher {
    std::function<void(const Noted&, std::span<const std::byte> note)> noted;
    // No batch is left, after so many updates; or why it ended before.
    std::function<void(std::int64_t updates, const std::string& failure)> finished;
  };

  virtual ~Server() = default;
  virtual comm::transport::Address address() const = 0;

  // Returns whether it has parameters to serve, from a process before it.
  virtual bool has_begun() const = 0;
  // Sets the parameters of its shard.
  virtual void begin(std::span<const float> parameters, std::span<const float> slots,
                     const LedgerStart& start) = 0;
  // Sets the addresses of all servers; from now on workers may join. REQUIRES: has_begun().
  virtual void connect(const std::vector<comm::transport::Address>& servers) = 0;

  virtual const Shard& shard() const = 0;
  virtual int live_workers() const = 0;
  virtual ServerCounts counts() const = 0;
  virtual void watch(Watcher watcher) = 0;
  // Workers end when they have done what they do; then finished().
  virtual void halt() = 0;
  // Calls back with all numbers, once so many updates are in them, and what the ledger says then.
  using OnSnapshot = std::function<void(Shard::Copy, const LedgerStart&)>;
  virtual void snapshot(std::int64_t updates, OnSnapshot on_snapshot) = 0;
};

// `key` as in listen(). `log` gets one line for each event that a person may want to know.
std::unique_ptr<Server> make_server(comm::transport::Loop& loop, const ServerOptions& options,
                                    const std::vector<Key>& keys, Updater& updater,
                                    const comm::transport::Address& address,
                                    const comm::transport::JobKey* key, Server::Log log);

}  // namespace trainyard::ps
