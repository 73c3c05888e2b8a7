#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "net/fault.h"
#include "net/sockets.h"

namespace trainyard::net_test {

// Stands between those who call and whom they want to reach, and is a bad network: at a port of this machine,
// on a thread of its own. All calls may come from any thread.
class Relay {
 public:
  struct Options {
    std::optional<Address> target;
    Address listen = {};             // any port of this machine
    Plan plan = {};                  // none: everything goes through
    std::uint64_t seed = 0;          // of the jitter
    std::size_t recorded_bytes = 0;  // of each way of each connection, the first ones are kept
  };

  explicit Relay(Options options);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  Address address() const { return address_; }

  // Sets the target of connections to come; those that are there stay. None: callers are turned away.
  void set_target(std::optional<Address> target);
  void set_plan(Plan plan);

  // All connections, those to come as well; after so many seconds everything is well again.
  void set_conditions(const Conditions& conditions, double seconds = kForEver);
  void stall(double seconds);
  void refuse(double seconds);  // who calls is turned away

  // Connections that are there. `at_byte` counts from now.
  void cut_all(Fault::Kind kind = Fault::Kind::rst);
  void order(const Fault& fault, Way way);

  int open_connections() const;
  std::vector<std::byte> recorded(int connection, Way way) const;

  // All that it did to connections, in order.
  struct Event {
    double seconds = 0;   // since it began
    int connection = -1;  // or all
    std::optional<Way> way;
    std::string what;
    std::string to_string() const;
  };
  std::vector<Event> events() const;
  std::string history() const;  // a line each

  static constexpr double kForEver = 1e9;

 private:
  struct Connection;

  void run();
  double wait_seconds(double now) const;
  void accept_all(double now);
  void open(Socket caller, double now);
  void pump(Connection& connection, double now);
  void read_from(Connection& connection, Way way, double now);
  void write_to(Connection& connection, Way way, double now);
  void cut(Connection& connection, Fault::Kind kind, const std::string& why);
  void end_conditions(double now);
  void note(int connection, std::optional<Way> way, const std::string& what);
  void wake() const;

  Options options_;
  Socket listener_, waker_;
  Address address_;
  double began_ = 0;

  mutable std::mutex mutex_;  // of all that follows; held by the thread whenever it does not wait
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::array<std::vector<std::byte>, 2>> records_;
  std::vector<Event> events_;
  std::optional<Conditions> conditions_;
  double conditions_until_ = 0, stalled_until_ = 0, refuses_until_ = 0;
  int connections_so_far_ = 0;
  bool stops_ = false;

  std::thread thread_;
};

}  // namespace trainyard::net_test
