#pragma once

#include "comm/transport/handshake.h"
#include "data/source/dataset.h"
#include "ps/mode/mode.h"
#include "ps/wire/messages.h"
#include "train/exchange/servers.h"
#include "train/loop/loop.h"

namespace trainyard::train {

// PsMeeting is the connection data that processes started for a run must be given.
struct PsMeeting {
  comm::transport::Address coordinator;
  WireLayout layout = WireLayout::native;
  std::uint32_t fingerprint = 0;
  std::int64_t elements = 0, parameters = 0;  // of the array that servers keep, and of it the parameters
  std::int64_t batches = 0;
  std::uint64_t run = 0;
};

// The processes of a run: servers and workers, wherever they are.
class PsProcesses {
 public:
  virtual ~PsProcesses() = default;
  virtual void start(const PsMeeting& meeting) = 0;
  // Some times a second: starts again what died and may. Why the run cannot go on, if so: peer where what was
  // reached is still worth saving.
  virtual std::optional<Error> look() = 0;
  // All of them end by themselves now, or are made to.
  virtual void end() = 0;
};

// The shape of a run with parameter servers.
struct PsSetup {
  int workers = 1, servers = 1;
  ps::ModeName mode;
  bool canonical = false;           // workers are not alike
  comm::transport::Address listen;  // of the coordinator
};

// The result of the exchange, for the record.
struct PsResult {
  WireLayout layout = WireLayout::native;
  std::vector<ps::ServerCounts> servers;
  std::int64_t batches_used = 0;          // by this run and those that it goes on from
  std::map<int, std::int64_t> gradients;  // by worker
  StepNote mean;                          // seconds, over all gradients
  double seconds = 0;                     // from the begin of the first gradient to the end of the last
  double gradients_per_second = 0;
  std::int64_t lost_servers = 0;
};

// Trains with parameter servers: brings the processes together, collects what they say, evaluates, saves
// checkpoints that any run can go on from. A step is an update: in bsp made of a gradient of every worker,
// else of one; a worker that is lost makes updates of fewer. SIGINT, SIGTERM and SIGHUP end it as they end
// every training. Error (peer) when it cannot go on; what was reached is saved before, where there is a
// folder. Other errors as look() gives them, and nothing is saved.
TrainResult run_ps_training(const SessionOptions& session, const data::Dataset& dataset,
                            const TrainOptions& options, const PsSetup& ps, const RunFolder* folder,
                            const comm::transport::JobKey& key, PsProcesses& processes, PsResult& exchange);

// Returns whether an update is made of a batch of every worker.
bool one_update_of_all(const ps::ModeName& mode);

}  // namespace trainyard::train
