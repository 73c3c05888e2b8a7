#include "cli/deployment_options.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/throughput.h"

namespace trainyard::cli {

using Json = nlohmann::ordered_json;

void add_deployment_options(CLI::App& command, DeploymentOptions& options) {
  command.add_option("--devices", options.devices, "Devices; on the CPU each gets a share of the threads")
      ->capture_default_str();
  command
      .add_option("--strategy", options.strategy,
                  "single, towers-device, towers-host, allreduce or independent: how devices share the work")
      ->capture_default_str();
  command.add_option("--scaling", options.scaling,
                     "With several devices: weak (--batch is for each) or strong (they split it)");
}

train::Deployment to_deployment(const DeploymentOptions& options, std::int64_t batch) {
  train::Deployment deployment;
  if (options.devices < 1) fail(ErrorKind::usage, "--devices {}: must be at least 1", options.devices);
  want_one_of("--strategy", options.strategy, train::strategy_names());
  deployment.devices = options.devices;
  deployment.strategy = *train::find_strategy(options.strategy);
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

void add_deployment(Json& report, const train::Deployment& deployment, const Consumption& consumption) {
  const auto batch = report["batch"].get<std::int64_t>();
  const int cores = report["threads"].get<int>();
  const auto median = report["step_seconds"]["median"].get<double>();
  const record::Throughput throughput{consumption.images_consumed, consumption.steps, deployment.devices};
  report["strategy"] = train::name(deployment.strategy);
  report["devices"] = deployment.devices;
  report["scaling"] = train::name(deployment.scaling);
  report["global_batch"] = deployment.global_batch(batch);
  report["batch_per_device"] = deployment.batch_per_device(batch);
  report["images_consumed"] = consumption.images_consumed;
  report["images_per_step"] = throughput.images_per_step();
  report["images_per_second"] = throughput.images_per_second(median);
  report["images_per_second_per_device"] = throughput.images_per_second_per_device(median);
  report["cpu_seconds"] = consumption.cpu.cpu_seconds;
  report["cores_used"] = consumption.cpu.cores_used();
  report["cores_allowed"] = consumption.cores_in_reach.size();
  report["warnings"] = Json::array();
  for (const record::Warning& warning :
       meter::check_cores(cores, consumption.cores_in_reach, consumption.cpu.cores_used()))
    report["warnings"].push_back({{"kind", warning.kind}, {"text", warning.text}});
}

}  // namespace trainyard::cli
