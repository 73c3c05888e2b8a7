#pragma once

#include <deque>
#include <thread>

#include "base/mutex.h"
#include "comm/transport/listener.h"
#include "comm/transport/loop.h"
#include "ps/server/state.h"
#include "ps/wire/peer.h"

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

  Coordinator(const CoordinatorOptions& options, const comm::transport::JobKey& key, Log log);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  comm::transport::Address address() const { return listener_->address(); }

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
  std::optional<News> next(double seconds) TRAINYARD_EXCLUDES(mutex_);

  // Sets the state with which servers begin that have none yet.
  void begin(State state);
  // Requests all parameters of one moment, as soon as so many updates are in them; more, if they are in
  // already.
  void want_snapshot(std::int64_t updates);
  void want_counts();
  // Workers end when they have done what they do; finished follows.
  void halt();
  // Ends the servers.
  void end();

 private:
  struct Seat {
    std::unique_ptr<Peer> peer;
    comm::transport::Address address;
    bool announced = false;
    bool begun = false;                      // it has numbers, as it says itself
    std::vector<std::vector<float>> arrays;  // of a snapshot that comes
    std::optional<std::int64_t> updates;     // of one that is here
    std::optional<ServerCounts> counts;
  };

  struct Asker {
    std::unique_ptr<Peer> peer;
    bool asked = false;
  };

  // All of what follows runs on the loop's thread.
  void meet(std::unique_ptr<comm::transport::Connection> connection);
  void meet_worker(std::unique_ptr<comm::transport::Connection> connection);
  void answer(std::uint64_t number);
  Bytes peers() const;
  std::size_t number_of(const Seat& server) const;
  void heard(Seat& server, const comm::transport::Frame& frame, std::span<const std::byte> payload);
  void announced(Seat& server, bool begun, const std::string& address);
  void tell_all(Seat& server);
  void say_beginning(Seat& server);
  void has_begun(Seat& server);
  void begin_when_complete();
  void ask_for_snapshot(std::int64_t updates);
  std::size_t elements_of_all() const;
  void put_snapshot_together();
  void tell_counts();
  void lost(Seat& server, const std::string& reason);
  void say_to_all(const comm::transport::Frame& frame);
  void tell(News news) TRAINYARD_EXCLUDES(mutex_);

  CoordinatorOptions options_;
  Log log_;
  comm::transport::RefusalLog refusals_;
  comm::transport::Loop loop_;
  std::vector<Seat> servers_;
  std::map<std::uint64_t, Asker> askers_;  // workers that want to know where the servers are
  std::uint64_t workers_met_ = 0;
  std::optional<State> beginning_;  // until all servers have it
  std::size_t arrays_ = 0;
  bool ready_ = false, halted_ = false, wants_counts_ = false, ended_ = false;
  std::optional<std::int64_t> wanted_snapshot_;
  LedgerStart snapshot_start_;
  std::uint32_t request_ = 0;
  std::int64_t late_ = 1;
  std::unique_ptr<comm::transport::Loop::Timer> last_;
  std::unique_ptr<comm::transport::Listener> listener_;

  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<News> news_ TRAINYARD_GUARDED_BY(mutex_);
  std::thread thread_;
};

// A worker asks where the servers are, and waits for the answer. Error (peer) when none comes for so long.
std::vector<comm::transport::Address> find_servers(const comm::transport::Address& coordinator, int worker,
                                                   const comm::transport::JobKey& key, double seconds);

}  // namespace trainyard::ps
