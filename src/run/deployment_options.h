#pragma once

#include "base/device_spec.h"
#include "ps/mode/mode.h"
#include "run/run_options.h"
#include "train/session/deployment.h"

namespace trainyard::run {

// The number of devices on which a run is deployed, and how they share the work.
struct DeploymentOptions {
  int devices = static_cast<int>(record::default_whole("devices")),
      accumulate = static_cast<int>(record::default_whole("accumulate"));
  std::string strategy = record::default_text("strategy"), scaling;
};

template <typename Visit>
void visit_settings(DeploymentOptions& options, const Visit& visit) {
  visit("devices", options.devices);
  visit("accumulate", options.accumulate);
  visit("strategy", options.strategy);
  visit("scaling", options.scaling);
}

// Returns whether the text names a mode of parameter servers.
bool is_server_mode(const std::string& text);

// Error (usage) when devices would idle, when nothing says what becomes of the batch, or when it cannot be
// split.
train::Deployment to_deployment(const DeploymentOptions& options, std::int64_t batch);

// The workers that train together, and the way in which they exchange.
struct WorkersOptions {
  int workers = 0;               // 0: not asked for
  std::string mode, collective;  // empty: not asked for
};

template <typename Visit>
void visit_settings(WorkersOptions& options, const Visit& visit) {
  visit("workers", options.workers);
  visit("mode", options.mode);
  visit("collective", options.collective);
}

// Holds the settings of parameter servers: their number, connections, patience and machines.
struct PsOptions {
  int servers = 0;  // 0: not asked for
  std::string wire = record::default_text("wire"), wire_layout = record::default_text("wire_layout"),
              transport = record::default_text("transport");
  int least_workers = 0;  // 0: all of them
  int restarts = static_cast<int>(record::default_whole("restarts"));
  double lease_seconds = record::default_number("lease"),
         patience_seconds = record::default_number("patience");
  std::filesystem::path hosts;
  std::string remote_shell, address;
};

template <typename Visit>
void visit_settings(PsOptions& options, const Visit& visit) {
  visit("servers", options.servers);
  visit("wire", options.wire);
  visit("wire_layout", options.wire_layout);
  visit("transport", options.transport);
  visit("min_workers", options.least_workers);
  visit("restarts", options.restarts);
  visit("lease", options.lease_seconds);
  visit("patience", options.patience_seconds);
  visit("hosts", options.hosts);
  visit("remote_shell", options.remote_shell);
  visit("address", options.address);
}

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
