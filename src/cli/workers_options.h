#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/deployment_options.h"
#include "cli/ps_options.h"

namespace trainyard::cli {

// Workers that train together, and by what they exchange.
struct WorkersOptions {
  int workers = 0;               // 0: not asked for
  std::string mode, collective;  // empty: not asked for
};

void add_workers_options(CLI::App& command, WorkersOptions& options);

// Workers for whom servers but no mode were asked for exchange by bsp, which updates as allreduce does.
// Workers are the devices of the deployment; batches are weakly scaled unless it says otherwise. Devices that
// exchange through servers or, on several machines (ps.hosts) or GPUs, by all-reduce, are workers. Fills in
// the collective: MPI where it is built and there are several, else threads of this process. Error (usage,
// unsupported) says what does not go together.
void apply(WorkersOptions& workers, DeploymentOptions& deployment, PsOptions& ps, const std::string& device);

// True: workers exchange through parameter servers.
bool with_servers(const WorkersOptions& options);

// True: each worker is a process of an MPI job.
bool in_processes(const WorkersOptions& options);

}  // namespace trainyard::cli
