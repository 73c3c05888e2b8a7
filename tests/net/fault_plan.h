#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::net_test {

// One fault that is injected into a run, once.
struct Injection {
  enum class Kind : std::uint8_t {
    kill_worker,
    kill_server,
    stop_worker,  // for `seconds`, then it goes on
    stop_server,
    cut,             // the worker's connections
    delay,           // for `seconds`, by `amount` seconds
    throttle,        // for `seconds`, to `amount` bytes per second
    garbage,         // `amount` bytes of it, in what the worker sends
    half_frame,      // a cut, behind the next `amount` bytes that the worker sends
    freeze,          // the worker's connections: nothing comes through any more, and nobody is told
    cut_servers,     // the connections between servers
    delay_servers,   // the same, for `seconds`, by `amount` seconds: a cut then loses what is under way
    freeze_servers,  // the same
    stranger,        // who calls the server and says `amount` bytes of garbage
  };
  enum class Clock : std::uint8_t { seconds, updates };  // of the run

  Kind kind = Kind::cut;
  int target = 0;  // number of the worker, or of the server
  Clock clock = Clock::seconds;
  double at = 0;
  double seconds = 0;
  double amount = 0;

  bool operator==(const Injection&) const = default;
};

std::string_view name_of(Injection::Kind kind);

// The faults that are injected into a run. As text the plan is one line, such as
//   seed 7: kill-worker 1 @2.5s; stop-server 0 @40u for 3.25; delay 2 @4s for 1 by 0.05
// in which s are seconds and u updates; parsed again it is the same plan.
struct FaultPlan {
  std::uint64_t seed = 0;
  std::vector<Injection> injections;  // in the order of their times, those in seconds first

  // Error (config) that says what is wrong.
  static FaultPlan parse(std::string_view text);
  std::string to_string() const;
  bool operator==(const FaultPlan&) const = default;
};

struct RunShape {
  int workers = 1, servers = 1;
  int injections = 10;
  Injection::Clock clock = Injection::Clock::seconds;
  double length = 10;       // seconds or updates
  double most_seconds = 6;  // that something is stopped, slow or narrow
  std::vector<Injection::Kind> kinds = {
      Injection::Kind::kill_worker, Injection::Kind::kill_server, Injection::Kind::stop_worker,
      Injection::Kind::stop_server, Injection::Kind::cut,         Injection::Kind::delay,
      Injection::Kind::throttle,    Injection::Kind::garbage,     Injection::Kind::half_frame};
};

// The same for the same seed and shape.
FaultPlan draw_plan(std::uint64_t seed, const RunShape& shape);

// Takes the plan from a command line: `--plan TEXT`, or drawn from `--seed N`, or from `seed` when neither is
// there.
FaultPlan plan_from(const std::vector<std::string>& arguments, std::uint64_t seed, const RunShape& shape);

}  // namespace trainyard::net_test
