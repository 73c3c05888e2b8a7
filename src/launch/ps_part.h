#pragma once

#include "base/device_spec.h"
#include "comm/transport/handshake.h"
#include "run/train_options.h"

namespace trainyard::launch {

// PsPart holds the options that `train` passes to a process that it starts for a job.
struct PsPart {
  std::string coordinator, listen, advertise, layout, share, key;
  std::optional<DeviceSpec> device;  // none: as the run's
  std::string backend;               // empty: as the run's
  int number = 0;
  std::uint32_t fingerprint = 0;
  std::int64_t elements = 0, parameters = 0, batches = 0;
  std::uint64_t run = 0;
};

// Returns the cores of worker `share` of `workers` on this machine. `threads` counts the threads of all
// workers; 0 means as many as can be shared equally. With more workers than cores, several workers share a
// core.
std::vector<int> cores_of_share(int threads, int share, int workers);

// The same for a share written as "1/2". Error (usage) when it is not.
std::vector<int> cores_of_share(int threads, const std::string& share);

// A process begins its log with "worker 1 on NODE, process PID". Returns the node that such a line names, or
// "" for any other line.
std::string node_in(const std::string& line, const char* what, int number);

// Returns the folder in which a server keeps what must survive it; in memory where the system has such.
std::filesystem::path server_state_file(std::uint64_t run, int server);

// Takes one line of a process's log.
using Log = std::function<void(const std::string& line)>;

// Runs one of the workers; `part` says which.
void work_for_servers(const run::TrainCommand& options, const PsPart& part, const Log& log);

// Runs one of the servers.
void serve_parameters(const run::TrainCommand& options, const PsPart& part, const Log& log);

}  // namespace trainyard::launch
