#pragma once

#include "comm/transport/address.h"
#include "comm/transport/connection.h"
#include "comm/transport/loop.h"

namespace trainyard::comm::transport {

using OnPeer = std::function<void(std::unique_ptr<Connection>)>;
using OnRefusal = std::function<void(const std::string& address, const std::string& reason)>;

// Waits for peers. Callers that do not show the key in time are turned away, and reported to `on_refusal`.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual Address address() const = 0;  // with the port that was found
};

// `key` null: Error (config) unless the address is local, and all who call are believed to have the key that
// is all zeros. Error (io): the address cannot be had.
std::unique_ptr<Listener> listen(Loop& loop, const Address& address, const JobKey* key,
                                 const ConnectionLimits& limits, OnPeer on_peer, OnRefusal on_refusal);

// Logs refused callers: some lines a minute, then only how many there were. A caller that tries often must
// not fill a disk.
class RefusalLog {
 public:
  using Log = std::function<void(const std::string&)>;
  static constexpr int kMostLines = 10;
  static constexpr double kSeconds = 60;

  explicit RefusalLog(Log log) : log_(std::move(log)) {}

  void add(const std::string& who, const std::string& why, double now);
  // Logs the number of suppressed lines, when it is time to.
  void look(double now);

 private:
  Log log_;
  double since_ = 0;  // of the lines below
  int lines_ = 0, unsaid_ = 0;
};

// Calls, and proves that it has the key. One of the two is called, later: `on_peer`, or `on_failure` with the
// reason. The attempt is given up when the returned object goes.
class Call {
 public:
  virtual ~Call() = default;
};
std::unique_ptr<Call> call(Loop& loop, const Address& address, const JobKey* key, const Hello& hello,
                           const ConnectionLimits& limits, OnPeer on_peer,
                           std::function<void(const std::string& reason)> on_failure);

}  // namespace trainyard::comm::transport
