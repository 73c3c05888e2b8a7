#include "cli/deployment_options.h"

#include <limits>

#include <fmt/format.h>

#include "cli/option_checks.h"
#include "ps/mode/mode.h"

namespace trainyard::cli {

void add_deployment_options(CLI::App& command, const char* of, run::DeploymentOptions& options) {
  add_setting(command, of, "devices", options.devices);
  add_setting(command, of, "strategy", options.strategy);
  add_setting(command, of, "scaling", options.scaling);
}

void add_workers_options(CLI::App& command, run::WorkersOptions& options) {
  add_setting(command, "train", "workers", options.workers)
      ->excludes(command.get_option("--devices"))
      ->excludes(command.get_option("--strategy"));
  add_setting(command, "train", "mode", options.mode);
  add_setting(command, "train", "collective", options.collective);
}

void add_ps_options(CLI::App& command, run::PsOptions& options) {
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
