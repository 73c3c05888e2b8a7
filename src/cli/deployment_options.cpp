#include "cli/deployment_options.h"

#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/option_checks.h"
#include "comm/collective/collective.h"
#include "ps/mode/mode.h"

namespace trainyard::cli {

void add_deployment_options(CLI::App& command, const char* run, DeploymentOptions& options) {
  add_setting(command, run, "devices", options.devices);
  add_setting(command, run, "strategy", options.strategy);
  add_setting(command, run, "scaling", options.scaling);
}

bool is_server_mode(const std::string& text) {
  try {
    ps::ModeName::parse(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

train::Deployment to_deployment(const DeploymentOptions& options, std::int64_t batch) {
  train::Deployment deployment;
  deployment.devices = options.devices;
  if (is_server_mode(options.strategy)) {
    deployment.strategy = train::Strategy::servers;
    deployment.mode = ps::ModeName::parse(options.strategy).to_string();
  } else {
    want_choice("bench", "strategy", options.strategy);
    deployment.strategy = *train::find_strategy(options.strategy);
  }
  if (deployment.devices > 1 && deployment.strategy == train::Strategy::single)
    fail(ErrorKind::usage,
         "--devices {}: strategy single uses one and leaves the rest idle; --strategy towers-device, "
         "towers-host, allreduce or independent uses all",
         options.devices);
  if (options.scaling.empty()) {
    if (options.devices > 1)
      fail(ErrorKind::usage,
           "--devices {} wants --scaling: weak (a batch of {} on each, {} in all) or strong ({} in all, "
           "split)",
           options.devices, batch, batch * options.devices, batch);
    return deployment;
  }
  want_choice("train", "scaling", options.scaling);
  deployment.scaling = *train::find_scaling(options.scaling);
  if (deployment.scaling == train::Scaling::strong && batch % options.devices != 0)
    fail(ErrorKind::usage, "--batch {}: {} devices cannot split it equally (--scaling strong)", batch,
         options.devices);
  return deployment;
}

void add_workers_options(CLI::App& command, WorkersOptions& options) {
  add_setting(command, "train", "workers", options.workers)
      ->excludes(command.get_option("--devices"))
      ->excludes(command.get_option("--strategy"));
  add_setting(command, "train", "mode", options.mode);
  add_setting(command, "train", "collective", options.collective);
}

namespace {

std::string server_modes() { return fmt::format("{}", fmt::join(ps::mode_words(), ", ")); }

// A user who asks for servers gets them, or an error that says why not.
void settle_mode(WorkersOptions& workers, const DeploymentOptions& deployment, PsOptions& ps) {
  const bool servers_wanted = ps.servers > 0;
  if (!workers.mode.empty() && workers.workers == 0)
    fail(ErrorKind::usage, "--mode {}: says how workers exchange, and wants --workers", workers.mode);
  if (servers_wanted && workers.mode == "allreduce")
    fail(ErrorKind::usage, "--servers {}: --mode allreduce exchanges without servers; those with are {}",
         ps.servers, server_modes());
  if (ps.servers > 1 && workers.workers == 0 && !is_server_mode(deployment.strategy))
    fail(ErrorKind::usage, "--servers {}: wants --workers, or a --strategy with servers: {}", ps.servers,
         server_modes());
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
  want_choice("train", "mode", workers.mode);
  const bool on_host = device == "cpu";
  if (workers.collective.empty())
    workers.collective = !on_host                                                  ? "nccl"
                         : workers.workers > 1 && comm::collective::mpi_is_built() ? "mpi"
                                                                                   : "local";
  want_choice("train", "collective", workers.collective);
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

void add_ps_options(CLI::App& command, PsOptions& options) {
  const auto add = [&](const char* name, auto& value) { add_setting(command, "train", name, value); };
  add("servers", options.servers);
  add("wire", options.wire);
  add("wire_layout", options.wire_layout);
  add("transport", options.transport);
  add("min_workers", options.least_workers);
  add("restarts", options.restarts);
  add("lease", options.lease_seconds);
  add("patience", options.patience_seconds);
  add("hosts", options.hosts);
  add("remote_shell", options.remote_shell);
  add("address", options.address);
}

void check(const PsOptions& options, const ps::ModeName& mode, int workers, const RunOptions& run) {
  want_choice("train", "wire", options.wire);
  want_choice("train", "wire_layout", options.wire_layout);
  want_choice("train", "transport", options.transport);
  if (options.least_workers > workers)
    fail(ErrorKind::usage, "--min-workers {}: must be between 1 and {}", options.least_workers, workers);
  if (mode.kind == ps::ModeName::Kind::hogwild && (run.optimizer != "sgd" || run.ema > 0))
    fail(ErrorKind::usage,
         "--mode hogwild: takes gradients off and knows nothing else; wants --optimizer sgd, no --ema");
}

void add_part_options(CLI::App& command, PsPart& part, bool server) {
  command.add_option("--join", part.coordinator, "Where the job's coordinator listens")->type_name("ADDRESS");
  command.add_option("--number", part.number, "Which one of them")
      ->transform(within(record::NumberRange::whole(0, 1'000'000)))
      ->capture_default_str();
  command.add_option("--job-key", part.key,
                     "File with the job's key, readable by its owner alone; -: standard input");
  if (server) {
    command.add_option("--listen", part.listen, "tcp:HOST:PORT (port 0: any), unix:PATH or shm:PATH");
    command.add_option("--advertise", part.advertise, "Host under which others reach it");
    command.add_option("--elements", part.elements, "Numbers that all servers keep together")
        ->transform(within(record::NumberRange::whole(0)));
    command.add_option("--parameters", part.parameters, "Of these, parameters")
        ->transform(within(record::NumberRange::whole(0)));
    command.add_option("--batches", part.batches, "To be used in all")
        ->transform(within(record::NumberRange::whole(0)));
    command.add_option("--run", part.run, "Which run this is: what another left is not taken over")
        ->transform(within(record::NumberRange::whole(0, std::numeric_limits<std::uint64_t>::max())));
  } else {
    command.add_option("--layout", part.layout, "native or canonical");
    command.add_option("--fingerprint", part.fingerprint, "Of the job's layout")
        ->transform(within(record::NumberRange::whole(0, std::numeric_limits<std::uint32_t>::max())));
    command.add_option("--share", part.share, "I/K: its share of this machine's cores");
    command.add_option("--on-device", part.device, "In place of --device");
    command.add_option("--with-backend", part.backend, "In place of --backend");
  }
}

}  // namespace trainyard::cli
