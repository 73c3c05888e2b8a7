#include "cli/workers_options.h"

#include "base/error.h"
#include "cli/option_checks.h"
#include "comm/collective/collective.h"
#include "ps/mode.h"

namespace trainyard::cli {

void add_workers_options(CLI::App& command, WorkersOptions& options) {
  command.add_option("--workers", options.workers, "Workers that train one network together; weak scaling")
      ->transform(within("workers"))
      ->excludes(command.get_option("--devices"))
      ->excludes(command.get_option("--strategy"));
  command.add_option("--mode", options.mode,
                     "How workers exchange: allreduce; or with parameter servers: bsp, bsp:sum, asp, ssp:N, "
                     "lazy, lazy-locked, hogwild (default: allreduce; bsp with --servers)");
  command.add_option("--collective", options.collective,
                     "Workers are local (threads), mpi (processes) or nccl (processes with a GPU each); "
                     "default: mpi where it is built, nccl on GPUs");
}

namespace {

constexpr const char* kServerModes = "bsp, bsp:sum, asp, ssp:N, lazy, lazy-locked, hogwild";

// Who asks for servers gets them, or hears why not.
void settle_mode(WorkersOptions& workers, const DeploymentOptions& deployment, PsOptions& ps) {
  const bool servers_wanted = ps.servers > 0;
  if (!workers.mode.empty() && workers.workers == 0)
    fail(ErrorKind::usage, "--mode {}: says how workers exchange, and wants --workers", workers.mode);
  if (servers_wanted && workers.mode == "allreduce")
    fail(ErrorKind::usage, "--servers {}: --mode allreduce exchanges without servers; those with are {}",
         ps.servers, kServerModes);
  if (ps.servers > 1 && workers.workers == 0 && !is_server_mode(deployment.strategy))
    fail(ErrorKind::usage, "--servers {}: wants --workers, or a --strategy with servers: {}", ps.servers,
         kServerModes);
  if (workers.mode.empty()) workers.mode = servers_wanted ? "bsp" : "allreduce";
  if (!servers_wanted) ps.servers = 1;
}

}  // namespace

void apply(WorkersOptions& workers, DeploymentOptions& deployment, PsOptions& ps, const std::string& device) {
  settle_mode(workers, deployment, ps);
  const bool in_several_places = !ps.hosts.empty() || (device != "cpu" && deployment.devices > 1);
  if (workers.workers == 0 &&
      (is_server_mode(deployment.strategy) || (in_several_places && deployment.strategy == "allreduce"))) {
    workers.workers = deployment.devices;
    workers.mode = deployment.strategy;
  }
  if (!ps.hosts.empty() && workers.workers == 0)
    fail(ErrorKind::usage,
         "--hosts: strategy {} runs in one process; --strategy allreduce and modes of parameter servers use "
         "several machines",
         deployment.strategy);
  if (workers.workers == 0) {
    if (!workers.collective.empty())
      fail(ErrorKind::usage, "--collective {} wants --workers", workers.collective);
    return;
  }
  if (with_servers(workers)) {
    if (!workers.collective.empty())
      fail(ErrorKind::usage, "--collective {}: --mode {} exchanges through servers", workers.collective,
           workers.mode);
    deployment.devices = workers.workers;
    deployment.strategy = workers.mode;
    if (deployment.scaling.empty()) deployment.scaling = "weak";
    return;
  }
  want_one_of("--mode", workers.mode,
              {"allreduce", "bsp", "bsp:sum", "asp", "ssp:N", "lazy", "lazy-locked", "hogwild"});
  if (workers.mode != "allreduce") ps::ModeName::parse(workers.mode);  // N is to be a number
  const bool on_host = device == "cpu";
  if (workers.collective.empty())
    workers.collective = !on_host                                                  ? "nccl"
                         : workers.workers > 1 && comm::collective::mpi_is_built() ? "mpi"
                                                                                   : "local";
  want_one_of("--collective", workers.collective, {"local", "mpi", "nccl"});
  if (!ps.hosts.empty() && workers.collective == "local" && workers.workers > 1)
    fail(ErrorKind::usage, "--collective local: are threads of this machine; --hosts wants mpi or nccl");
  if (in_processes(workers) && !comm::collective::mpi_is_built())
    comm::collective::join_mpi();  // says what to do
  if (workers.collective == "nccl" && on_host)
    fail(ErrorKind::usage, "--collective nccl: wants GPUs, --device cuda");
  if (workers.collective != "nccl" && !on_host)
    fail(ErrorKind::usage, "--collective {}: exchanges on the host; GPUs want nccl", workers.collective);
  deployment.devices = workers.workers;
  deployment.strategy = workers.mode;
  if (deployment.scaling.empty()) deployment.scaling = "weak";
}

bool with_servers(const WorkersOptions& options) {
  return options.workers > 0 && is_server_mode(options.mode);
}

bool in_processes(const WorkersOptions& options) {
  return options.workers > 0 && !with_servers(options) && options.collective != "local";
}

}  // namespace trainyard::cli
