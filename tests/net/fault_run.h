#pragma once

#include <filesystem>

#include "net/fault_plan.h"

namespace trainyard::net_test {

// A training run of real processes to which faults happen.
struct FaultRun {
  std::uint64_t seed = 0;
  std::string mode = "asp";
  int workers = 1, servers = 1;
  std::int64_t batches = 40;
  double lease_seconds = 0.5;
  std::string over = "tcp";   // with relays between workers and servers; else unix or shm
  bool loses_worker = false;  // one that does not come again, where all are needed: the run must say so

  RunShape shape;  // of the plan

  bool has_relays() const { return over == "tcp"; }
  bool races() const;  // its updates may lose something, so that nothing can be counted

  std::string to_string() const;
};

// The same for the same seed.
FaultRun draw_run(std::uint64_t seed);

struct FaultRunResult {
  std::vector<std::string> problems;  // none: all is as it must be
  std::vector<Injection> injected;    // of the plan: what came before the end
  double seconds = 0;
  std::string story;  // what happened when, and what the processes said
};

// `node`: the program of servers and workers. In `folder`, which must be empty, state and logs are kept.
FaultRunResult carry_out(const FaultRun& run, const FaultPlan& plan, const std::filesystem::path& node,
                         const std::filesystem::path& folder);

}  // namespace trainyard::net_test
