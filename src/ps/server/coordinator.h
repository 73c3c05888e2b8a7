#pragma once

#include <optional>

#include "comm/transport/listener.h"
#include "ps/server/state.h"

namespace trainyard::ps {

struct CoordinatorOptions {
  int servers = 1;
  std::vector<Key> keys = {};
  comm::transport::Address listen;  // port 0: any that is free
};

// Brings the processes of a run together. Servers report their addresses and receive their parameters from
// it; workers ask it for the servers' addresses. It is told of every gradient that counts, collects all
// parameters on request, and ends the run. It communicates on a thread of its own; one other thread calls it.
class Coordinator {
 public:
  using Log = std::function<void(const std::string&)>;

  virtual ~Coordinator() = default;

  virtual comm::transport::Address address() const = 0;

  // News is delivered in the order of arrival.
  struct News {
    enum class Kind : std::uint8_t {
      ready,     // all servers have their numbers
      noted,     // a gradient counts
      snapshot,  // as it was wanted
      finished,  // nothing is left to do
      counts,    // of every server
      lost,      // a server; it may come again
      failed,    // a server came without its numbers
    };
    Kind kind = Kind::ready;
    Noted noted = {};
    Bytes note = {};
    State state = {};
    std::int64_t updates = 0;
    std::string words = {};  // finished: why before its time; lost, failed: who and why
    std::vector<ServerCounts> counts = {};
  };
  // Returns nothing when nothing comes for so long.
  virtual std::optional<News> next(double seconds) = 0;

  // Sets the state with which servers begin that have none yet.
  virtual void begin(State state) = 0;
  // Requests all parameters of one moment, as soon as so many updates are in them; more, if they are in
  // already.
  virtual void want_snapshot(std::int64_t updates) = 0;
  virtual void want_counts() = 0;
  // Workers end when they have done what they do; finished follows.
  virtual void halt() = 0;
  // Ends the servers.
  virtual void end() = 0;
};

std::unique_ptr<Coordinator> make_coordinator(const CoordinatorOptions& options,
                                              const comm::transport::JobKey& key, Coordinator::Log log);

// A worker asks where the servers are, and waits for the answer. Error (peer) when none comes for so long.
std::vector<comm::transport::Address> find_servers(const comm::transport::Address& coordinator, int worker,
                                                   const comm::transport::JobKey& key, double seconds);

}  // namespace trainyard::ps
