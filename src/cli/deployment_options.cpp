#include "cli/deployment_options.h"

#include "base/error.h"
#include "cli/option_checks.h"
#include "ps/mode.h"

namespace trainyard::cli {

void add_deployment_options(CLI::App& command, DeploymentOptions& options) {
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
    want_one_of("--strategy", options.strategy, train::strategy_names());
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
  want_one_of("--scaling", options.scaling, {"weak", "strong"});
  deployment.scaling = *train::find_scaling(options.scaling);
  if (deployment.scaling == train::Scaling::strong && batch % options.devices != 0)
    fail(ErrorKind::usage, "--batch {}: {} devices cannot split it equally (--scaling strong)", batch,
         options.devices);
  return deployment;
}

}  // namespace trainyard::cli
