#pragma once

#include <filesystem>
#include <string>

#include "base/device_spec.h"
#include "ps/mode/mode.h"
#include "run/run_options.h"
#include "train/session/deployment.h"

namespace trainyard::run {

// The number of devices on which a run is deployed, and how they share the work.
struct DeploymentOptions {
  int devices = 1;
  std::string strategy = "single", scaling;
};

// Whether it names a mode of parameter servers.
bool is_server_mode(const std::string& text);

// Error (usage) when devices would idle, when nothing says what becomes of the batch, or when it cannot be
// split.
train::Deployment to_deployment(const DeploymentOptions& options, std::int64_t batch);

// The workers that train together, and the way in which they exchange.
struct WorkersOptions {
  int workers = 0;               // 0: not asked for
  std::string mode, collective;  // empty: not asked for
};

// Training with parameter servers: how many, by which rules, over what.
struct PsOptions {
  int servers = 0;  // 0: not asked for
  std::string wire = "f32", wire_layout = "auto", transport = "auto";
  int least_workers = 0;  // 0: all of them
  int restarts = 3;
  double lease_seconds = 3, patience_seconds = 30;
  std::filesystem::path hosts;
  std::string remote_shell, address;
};

// Workers for whom servers but no mode were asked for exchange by bsp, which updates as allreduce does.
// Workers are the devices of the deployment; batches are weakly scaled unless it says otherwise. Devices that
// exchange through servers or, on several machines (ps.hosts) or GPUs, by all-reduce, are workers. Fills in
// the collective: MPI where it is built and there are several, else threads of this process. Error (usage,
// unsupported) says what does not go together.
void apply(WorkersOptions& workers, DeploymentOptions& deployment, PsOptions& ps, const DeviceSpec& device);

// True: workers exchange through parameter servers.
bool with_servers(const WorkersOptions& options);

// True: each worker is a process of an MPI job.
bool in_processes(const WorkersOptions& options);

// Error (usage) names the option.
void check(const PsOptions& options, const ps::ModeName& mode, int workers, const RunOptions& run);

}  // namespace trainyard::run
