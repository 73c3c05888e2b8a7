#include "run/run_record.h"

#include <unistd.h>

#include <new>

#include "base/cores.h"
#include "base/json.h"
#include "data/get/gzip_file.h"
#include "meter/process_stat.h"
#include "meter/provenance.h"
#include "record/metric.h"
#include "train/session/evaluate.h"

namespace trainyard::run {

namespace {

std::string new_run_id(const RunStart& start) {
  const auto moment = static_cast<std::uint64_t>(start.wall * 1e9);
  return fmt::format("run-{:016x}", mix_streams(moment, static_cast<std::uint64_t>(::getpid())));
}

void settle_deployment(const train::Deployment& deployment, record::Settings& asked) {
  asked["strategy"] = deployment.strategy_name();
  asked["devices"] = std::int64_t{deployment.devices};
  if (deployment.devices > 1)
    asked["scaling"] = std::string(train::name(deployment.scaling));
  else
    asked.erase("scaling");
}

void add_steps(record::RunRecord& run, const train::RunFacts& facts, const train::Deployment& deployment,
               const Measurement& measured) {
  const record::Throughput throughput{measured.images_consumed, measured.counted_steps, deployment.devices};
  const double none = std::numeric_limits<double>::quiet_NaN();
  run.warmup_step_seconds.assign(measured.warmup_seconds.begin(), measured.warmup_seconds.end());
  run.step_seconds.assign(measured.step_seconds.begin(), measured.step_seconds.end());
  run.images_per_step = measured.counted_steps > 0 ? throughput.images_per_step() : 0;
  record::summarise_steps(run);
  const bool timed = run.statistics.steps > 0;
  const double rate = timed ? static_cast<double>(facts.flops_per_step) / run.statistics.mean : none;
  run.figures["images_per_second_per_device"] =
      timed ? throughput.images_per_second_per_device(run.statistics.mean) : none;
  run.figures["images_consumed"] = static_cast<double>(measured.images_consumed);
  run.figures["warmup_steps"] = static_cast<double>(measured.warmup_seconds.size());
  run.figures["flops_per_second"] = rate;
  if (measured.event_seconds > 0 && measured.counted_steps > 0) {
    const auto steps = static_cast<double>(measured.counted_steps);
    run.figures["event_seconds_per_step"] = measured.event_seconds / steps;
    run.figures["wall_seconds_per_step"] = measured.wall_seconds / steps;
  }
  run.words["feed"] = measured.feed;
  run.figures["input_wait_seconds"] = measured.input_wait_seconds;
  run.figures["input_wait_fraction"] =
      measured.wall_seconds > 0 ? measured.input_wait_seconds / measured.wall_seconds : none;
  run.figures["peak_flops_per_second"] = measured.peak_flops_per_second;
  run.figures["peak_fraction"] =
      measured.peak_flops_per_second > 0 ? rate / measured.peak_flops_per_second : none;
}

void add_tokens(record::RunRecord& run, const RunOptions& options) {
  const networks::NetworkInfo& network = networks::find_network(options.network);
  if (!network.reads_sequences() || !run.images_per_second) return;
  const auto length = static_cast<double>(train::sequences_for(network, options.parameters).length);
  run.figures["tokens_per_second"] = *run.images_per_second * length;
}

void add_resources(record::RunRecord& run, const train::RunFacts& facts, const Measurement& measured) {
  run.figures["threads"] = facts.threads;
  run.figures["cpu_seconds"] = measured.cpu.cpu_seconds();
  run.figures["cores_used"] = measured.cpu.cores_used();
  run.figures["cores_allowed"] = static_cast<double>(measured.cores_in_reach.size());
  if (measured.core_distance.before > 0 && measured.core_distance.after > 0) {
    run.figures[record::kHandoffBefore] = measured.core_distance.before;
    run.figures[record::kHandoffAfter] = measured.core_distance.after;
  }
  meter::add_gpu_figures(measured.gpu, run);
  run.warnings = meter::check_cores(facts.threads, measured.cores_in_reach, measured.cpu.cores_used(),
                                    meter::read_cgroup_limits(meter::SystemFiles()).cores);
  run.warnings.insert(run.warnings.end(), measured.noise.begin(), measured.noise.end());
  warn_of_refused_isa(run);
}

// Says which file a network was, so that who reads the record can tell whether it still is.
void add_network_file(const std::string& network, record::Provenance& facts) {
  if (!networks::names_network_file(network) || !std::filesystem::exists(network)) return;
  facts.push_back({"network", "file", std::filesystem::absolute(network).lexically_normal().string()});
  facts.push_back({"network", "sha256", data::sha256_of_file(network)});
}

}  // namespace

void warn_of_refused_isa(record::RunRecord& run) {
  if (const auto isa = backend::found_cpu_isa(); isa && !isa->refused.empty())
    run.warnings.push_back({"isa", fmt::format("oneDNN is kept to {}: a process that tried {} {}", isa->name,
                                               isa->refused, isa->reason)});
}

record::Provenance machine_facts() {
  record::Provenance facts = meter::find_provenance();
  const std::optional<backend::CpuIsa> isa = backend::found_cpu_isa();
  if (!isa) return facts;
  const auto after = std::find_if(facts.begin(), facts.end(),
                                  [](const record::Fact& fact) { return fact.section != "cpu"; });
  record::Provenance found{{"cpu", "kernel_isa", isa->name}};
  if (!isa->refused.empty()) {
    found.push_back({"cpu", "refused_isa", isa->refused});
    found.push_back({"cpu", "refused_isa_reason", isa->reason});
  }
  facts.insert(after, found.begin(), found.end());
  return facts;
}

record::RunRecord new_record(const std::string& command, const RunStart& start) {
  record::RunRecord run;
  run.id = new_run_id(start);
  run.command = command;
  run.started_seconds = start.wall;
  run.wall_seconds = now_seconds() - start.steady;
  pin_thread(process_cores());  // facts are of the process as it was started, not as it limited itself
  run.provenance = machine_facts();
  run.node = node_name();
  return run;
}

record::RunRecord begin_record(const std::string& command, const RunStart& start,
                               const record::Settings& asked, const RunOptions& options,
                               const train::Deployment& deployment) {
  record::RunRecord run = new_record(command, start);
  run.asked = asked;
  settle_deployment(deployment, run.asked);
  add_network_file(options.network, run.provenance);
  run.words = {{"network", options.network},
               {"precision", options.precision},
               {"mode", options.mode},
               {"optimizer", options.optimizer},
               {"scaling", train::name(deployment.scaling)},
               {"strategy", deployment.strategy_name()}};
  run.figures = {{"batch", static_cast<double>(options.batch)},
                 {"devices", static_cast<double>(deployment.devices)},
                 {"global_batch", static_cast<double>(deployment.global_batch(options.batch))},
                 {"batch_per_device", static_cast<double>(deployment.batch_per_device(options.batch))},
                 {"peak_memory_bytes", static_cast<double>(meter::peak_resident_bytes())}};
  return run;
}

void add_hosts(record::RunRecord& run, const std::vector<std::string>& nodes) {
  std::vector<std::string> names;  // in the order of workers
  for (const std::string& node : nodes)
    if (std::find(names.begin(), names.end(), node) == names.end()) names.push_back(node);
  auto list = Json::array();
  for (const std::string& name : names)
    list.push_back({{"name", name}, {"workers", std::count(nodes.begin(), nodes.end(), name)}});
  run.figures["nodes_used"] = static_cast<double>(names.size());
  run.figures["devices_used"] = static_cast<double>(nodes.size());
  run.details["hosts"] = json_text(list);
}

record::RunRecord make_record(const std::string& command, const RunStart& start,
                              const record::Settings& asked, const RunOptions& options,
                              const train::Deployment& deployment, const train::RunFacts& facts,
                              const Measurement& measured) {
  record::RunRecord run = begin_record(command, start, asked, options, deployment);
  run.words["backend"] = facts.backend;
  run.figures["parameters"] = static_cast<double>(facts.parameters);
  if (facts.frozen_parameters > 0)
    run.figures["frozen_parameters"] = static_cast<double>(facts.frozen_parameters);
  run.figures["flops_per_step"] = static_cast<double>(facts.flops_per_step);
  run.figures["bytes_per_step"] = static_cast<double>(facts.bytes_per_step);
  run.figures["plan_bytes"] = static_cast<double>(facts.plan_bytes);
  if (facts.plan_limit_bytes > 0) {
    run.figures["plan_limit_bytes"] = static_cast<double>(facts.plan_limit_bytes);
    run.figures["unlimited_plan_bytes"] = static_cast<double>(facts.unlimited_plan_bytes);
    run.figures["recomputed_flops_per_step"] = static_cast<double>(facts.recomputed_flops_per_step);
    run.figures["recomputed_bytes_per_step"] = static_cast<double>(facts.recomputed_bytes_per_step);
  }
  if (facts.device_bytes > 0) run.figures["device_memory_bytes"] = static_cast<double>(facts.device_bytes);
  add_steps(run, facts, deployment, measured);
  add_tokens(run, options);
  add_resources(run, facts, measured);
  const std::vector<std::string> nodes =
      facts.nodes.empty()
          ? std::vector<std::string>(static_cast<std::size_t>(deployment.devices), node_name())
          : facts.nodes;
  add_hosts(run, nodes);
  const auto devices_here = std::count(nodes.begin(), nodes.end(), node_name());
  if (auto idle = meter::check_given_gpus(options.device.is_gpu() ? static_cast<int>(devices_here) : 0))
    run.warnings.push_back(std::move(*idle));
  return run;
}

void keep_record(const record::RunRecord& run, const RunOptions& options) {
  if (!options.record.empty()) record::write_run_record(run, options.record);
}

namespace {

void record_failure(const std::string& command, const RunStart& start, const record::Settings& asked,
                    const RunOptions& options, const DeploymentOptions& deployment, int exit_code,
                    const std::string& message) {
  record::RunRecord run =
      begin_record(command, start, asked, options, to_deployment(deployment, options.batch));
  const record::EndStatus end = record::status_of_end({.exit_code = exit_code}, command, message, 0);
  run.status = end.status;
  run.reason = end.reason;
  run.exit_code = exit_code;
  try {
    keep_record(run, options);
  } catch (const Error&) {
    // The caller must hear why the run failed, and not why its record could not be written.
  }
}

}  // namespace

int recording_failure(const std::string& command, const RunOptions& options,
                      const DeploymentOptions& deployment, const std::function<record::Settings()>& asked,
                      const std::function<int()>& run) {
  const RunStart start;
  const auto record = [&](int exit_code, const std::string& message) {
    if (options.record.empty()) return;
    record_failure(command, start, asked(), options, deployment, exit_code, message);
  };
  try {
    return run();
  } catch (const Error& error) {
    // A mistyped command never was a run; one for which this machine lacks the memory is a run that was
    // refused.
    if (process::exit_code(error.kind()) != process::kCallerCanMendIt ||
        error.kind() == ErrorKind::unsupported)
      record(process::exit_code(error.kind()), error.with_options());
    throw;
  } catch (const std::bad_alloc&) {
    record(process::kRunFailed, "out of memory");
    throw;
  }
}

}  // namespace trainyard::run
