#include "cli/deployment_options.h"

#include <limits>

#include <fmt/format.h>

#include "cli/option_checks.h"
#include "ps/mode/mode.h"

namespace trainyard::cli {

void add_deployment_options(CLI::App& command, run::DeploymentOptions& options) {
  command.add_option("--devices", options.devices, "Devices; on the CPU each gets a share of the threads")
      ->transform(within("devices"))
      ->capture_default_str();
  command
      .add_option("--strategy", options.strategy,
                  "How devices share the work: single, towers-device, towers-host, allreduce or independent; "
                  "train also takes a mode of parameter servers")
      ->capture_default_str();
  command.add_option("--scaling", options.scaling,
                     "With several devices: weak (--batch is for each) or strong (they split it)");
}

void add_workers_options(CLI::App& command, run::WorkersOptions& options) {
  command.add_option("--workers", options.workers, "Workers that train one network together; weak scaling")
      ->transform(within("workers"))
      ->excludes(command.get_option("--devices"))
      ->excludes(command.get_option("--strategy"));
  command.add_option("--mode", options.mode,
                     fmt::format("How workers exchange: allreduce; or with parameter servers: {} (default: "
                                 "allreduce; bsp with --servers)",
                                 ps::mode_help()));
  command.add_option("--collective", options.collective,
                     "Workers are local (threads), mpi (processes) or nccl (processes with a GPU each); "
                     "default: mpi where it is built, nccl on GPUs");
}

void add_ps_options(CLI::App& command, run::PsOptions& options) {
  command.add_option("--servers", options.servers, "Parameter servers that share the network (default: 1)")
      ->transform(within("servers"));
  command.add_option("--wire", options.wire, "How numbers are sent: f32 or bf16")->capture_default_str();
  command
      .add_option("--wire-layout", options.wire_layout,
                  "native (all workers compute alike), canonical (they need not) or auto (canonical where "
                  "--hosts says device= or backend=)")
      ->capture_default_str();
  command
      .add_option("--transport", options.transport,
                  "auto (shm on one machine, tcp between several), shm, unix or tcp")
      ->capture_default_str();
  command
      .add_option("--min-workers", options.least_workers,
                  "With fewer for longer than --patience the run ends (default: all)")
      ->transform(within("min_workers"));
  command.add_option("--restarts", options.restarts, "How often a process that died is started again")
      ->transform(within("restarts"))
      ->capture_default_str();
  command
      .add_option("--lease", options.lease_seconds, "Seconds after which a silent process is taken for dead")
      ->transform(within("lease"))
      ->capture_default_str();
  command
      .add_option("--patience", options.patience_seconds,
                  "Seconds to wait for processes that are missing before the run ends")
      ->transform(within("patience"))
      ->capture_default_str();
  command
      .add_option("--hosts", options.hosts,
                  "File with a line a machine: NAME [address=A] [workers=N] [servers=S] [device=D] "
                  "[backend=B], localhost being this one; or the word slurm: the nodes of this allocation")
      ->type_name("FILE");
  command.add_option("--remote-shell", options.remote_shell,
                     "What starts a program on a machine of --hosts, whose name takes the place of {} or is "
                     "the last word (default: ssh; srun for slurm)");
  command.add_option("--address", options.address,
                     "Of this machine, as those of --hosts reach it (default: its name; in a Slurm job as "
                     "Slurm reaches it)");
}

void add_part_options(CLI::App& command, launch::PsPart& part, bool server) {
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
