#include "run/deployment_options.h"

#include "base/text.h"
#include "run/start_weights.h"

namespace trainyard::run {

bool is_server_mode(const std::string& text) { return ps::is_mode(text); }

train::Deployment to_deployment(const DeploymentOptions& options, std::int64_t batch) {
  train::Deployment deployment;
  deployment.devices = options.devices;
  deployment.micro_batches = options.accumulate;
  if (is_server_mode(options.strategy)) {
    if (options.accumulate > 1)
      fail(ErrorKind::usage,
           "{} {}: parameter servers use the gradient of each batch; {} single, towers-device, towers-host, "
           "allreduce and independent accumulate",
           Setting{"accumulate"}, options.accumulate, Setting{"strategy"});
    deployment.strategy = train::Strategy::servers;
    deployment.mode = ps::ModeName::parse(options.strategy).to_string();
  } else {
    want_choice("bench", "strategy", options.strategy);
    deployment.strategy = *train::find_strategy(options.strategy);
  }
  if (deployment.devices > 1 && deployment.strategy == train::Strategy::single)
    fail(ErrorKind::usage,
         "{} {}: strategy single uses one and leaves the rest idle; {} towers-device, towers-host, allreduce "
         "or independent uses all",
         Setting{"devices"}, options.devices, Setting{"strategy"});
  if (options.scaling.empty()) {
    if (options.devices > 1)
      fail(ErrorKind::usage,
           "{} {} wants {}: weak (a batch of {} on each, {} in all) or strong ({} in all, split)",
           Setting{"devices"}, options.devices, Setting{"scaling"}, batch, batch * options.devices, batch);
    return deployment;
  }
  want_choice("train", "scaling", options.scaling);
  deployment.scaling = *train::find_scaling(options.scaling);
  if (deployment.scaling == train::Scaling::strong && batch % options.devices != 0)
    fail(ErrorKind::usage, "{} {}: {} devices cannot split it equally ({} strong)", Setting{"batch"}, batch,
         options.devices, Setting{"scaling"});
  return deployment;
}

namespace {

std::string server_modes() { return joined(ps::mode_words(), ", "); }

// A user who asks for servers gets them, or an error that says why not.
void settle_mode(WorkersOptions& workers, const DeploymentOptions& deployment, PsOptions& ps) {
  const bool servers_wanted = ps.servers > 0;
  if (!workers.mode.empty() && workers.workers == 0)
    fail(ErrorKind::usage, "{} {}: says how workers exchange, and wants {}", Setting{"mode"}, workers.mode,
         Setting{"workers"});
  if (servers_wanted && workers.mode == "allreduce")
    fail(ErrorKind::usage, "{} {}: {} allreduce exchanges without servers; those with are {}",
         Setting{"servers"}, ps.servers, Setting{"mode"}, server_modes());
  if (ps.servers > 1 && workers.workers == 0 && !is_server_mode(deployment.strategy))
    fail(ErrorKind::usage, "{} {}: wants {}, or a {} with servers: {}", Setting{"servers"}, ps.servers,
         Setting{"workers"}, Setting{"strategy"}, server_modes());
  if (workers.mode.empty()) workers.mode = servers_wanted ? "bsp" : "allreduce";
  if (!servers_wanted) ps.servers = 1;
}

}  // namespace

void apply(WorkersOptions& workers, DeploymentOptions& deployment, PsOptions& ps, const DeviceSpec& device) {
  settle_mode(workers, deployment, ps);
  const bool in_several_places = !ps.hosts.empty() || (device.is_gpu() && deployment.devices > 1);
  if (workers.workers == 0 &&
      (is_server_mode(deployment.strategy) || (in_several_places && deployment.strategy == "allreduce"))) {
    workers.workers = deployment.devices;
    workers.mode = deployment.strategy;
  }
  if (!ps.hosts.empty() && workers.workers == 0)
    fail(ErrorKind::usage,
         "{}: strategy {} runs in one process; {} allreduce and modes of parameter servers use several "
         "machines",
         Setting{"hosts"}, deployment.strategy, Setting{"strategy"});
  if (workers.workers == 0) {
    if (!workers.collective.empty())
      fail(ErrorKind::usage, "{} {} wants {}", Setting{"collective"}, workers.collective, Setting{"workers"});
    return;
  }
  if (with_servers(workers)) {
    if (!workers.collective.empty())
      fail(ErrorKind::usage, "{} {}: {} {} exchanges through servers", Setting{"collective"},
           workers.collective, Setting{"mode"}, workers.mode);
    deployment.devices = workers.workers;
    deployment.strategy = workers.mode;
    if (deployment.scaling.empty()) deployment.scaling = "weak";
    return;
  }
  if (workers.mode.find(':') != std::string::npos) ps::ModeName::parse(workers.mode);  // says what N may be
  want_choice("train", "mode", workers.mode);
  const bool on_host = device.is_cpu();
  if (workers.collective.empty())
    workers.collective = !on_host                                                  ? "nccl"
                         : workers.workers > 1 && comm::collective::mpi_is_built() ? "mpi"
                                                                                   : "local";
  want_choice("train", "collective", workers.collective);
  if (!ps.hosts.empty() && workers.collective == "local" && workers.workers > 1)
    fail(ErrorKind::usage, "{} local: are threads of this machine; {} wants mpi or nccl",
         Setting{"collective"}, Setting{"hosts"});
  if (in_processes(workers) && !comm::collective::mpi_is_built())
    comm::collective::join_mpi();  // says what to do
  if (workers.collective == "nccl" && on_host)
    fail(ErrorKind::usage, "{} nccl: wants GPUs, {} cuda", Setting{"collective"}, Setting{"device"});
  if (workers.collective != "nccl" && !on_host)
    fail(ErrorKind::usage, "{} {}: exchanges on the host; GPUs want nccl", Setting{"collective"},
         workers.collective);
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

void check(const PsOptions& options, const ps::ModeName& mode, int workers, const RunOptions& run) {
  want_choice("train", "wire", options.wire);
  want_choice("train", "wire_layout", options.wire_layout);
  want_choice("train", "transport", options.transport);
  if (options.least_workers > workers)
    fail(ErrorKind::usage, "{} {}: must be between 1 and {}", Setting{"min_workers"}, options.least_workers,
         workers);
  if (run.clip_norm > 0)
    fail(ErrorKind::usage,
         "{} {}: a parameter server has a part of the gradient, and not the norm of the whole; {} single, "
         "towers-device, towers-host, allreduce and independent clip",
         Setting{"clip_norm"}, run.clip_norm, Setting{"strategy"});
  check_no_frozen(run, mode.to_string());
  if (run.decay_matrices_only)
    fail(ErrorKind::usage, "{}: parameter servers do not know which parameters are matrices",
         Setting{"decay_matrices_only"});
  if (mode.row->sharing == ps::Sharing::racing && (run.optimizer != "sgd" || run.ema > 0))
    fail(ErrorKind::usage, "{} {}: takes gradients off and knows nothing else; wants {} sgd, no {}",
         Setting{"mode"}, mode.to_string(), Setting{"optimizer"}, Setting{"ema"});
}

}  // namespace trainyard::run
