#pragma once

#include "ps/mode/mode.h"

namespace trainyard::ps {

// Holds the settings of one server. The servers of a run have the same settings but for `server` and `state`.
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

}  // namespace trainyard::ps
