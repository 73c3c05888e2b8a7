#include "predict/kernels/measured_run.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "networks/zoo.h"
#include "predict/run_table.h"

namespace trainyard::predict {
namespace {

using Json = nlohmann::json;

std::string asked(const record::RunRecord& record, const std::string& name, const std::string& otherwise) {
  const auto at = record.asked.find(name);
  return at == record.asked.end() ? otherwise : record::to_text(at->second);
}

backend::Precision precision_of(const std::string& name) {
  for (const auto precision : {backend::Precision::f32, backend::Precision::tf32, backend::Precision::bf16})
    if (name == backend::name(precision)) return precision;
  fail(ErrorKind::config, "precision '{}': f32, tf32 or bf16", name);
}

// What one node of the step took, with what the plan put before it: copies into another layout or type.
struct NodeTimes {
  std::vector<double> seconds, workspace;
  std::vector<bool> ran;
};

// One kernel updates what no gradient's own kernel does: its seconds are shared out by bytes.
void share_update(const StepShapes& step, NodeTimes& times) {
  std::vector<std::size_t> parts;
  double bytes = 0, seconds = 0;
  for (std::size_t n = 0; n < step.names.size(); ++n) {
    const std::string& op = step.shapes[n].op;
    if (op == "update" || (op == "dense_update" && !times.ran[n])) {
      parts.push_back(n);
      bytes += step.shapes[n].bytes;
      seconds += times.seconds[n];
    }
  }
  // A gradient's own kernel with its update: the update ran with it, not by itself.
  std::unordered_map<std::string, std::size_t> by_name;
  for (std::size_t n = 0; n < step.names.size(); ++n) by_name[step.names[n]] = n;
  for (std::size_t n = 0; n < step.names.size(); ++n) {
    if (step.shapes[n].op != "dense_update" || !times.ran[n]) continue;
    const std::string& name = step.names[n];
    const std::size_t gradient =
        by_name.at(name.substr(0, name.size() - std::string_view(kUpdateSuffix).size()));
    times.seconds[gradient] += times.seconds[n];
    times.ran[gradient] = true;
    times.seconds[n] = 0;
    times.ran[n] = false;
  }
  if (seconds <= 0) return;
  for (const std::size_t n : parts) {
    times.seconds[n] = seconds * step.shapes[n].bytes / bytes;
    times.ran[n] = true;
  }
}

NodeTimes times_of_nodes(const Json& kernels, const StepShapes& step) {
  std::unordered_map<std::string, std::size_t> by_name;
  std::map<std::string, std::pair<std::size_t, int>> by_op;  // its first node, how many there are
  for (std::size_t n = 0; n < step.names.size(); ++n) {
    by_name[step.names[n]] = n;
    ++by_op.try_emplace(step.shapes[n].op, n, 0).first->second.second;
  }
  NodeTimes times{std::vector<double>(step.names.size(), 0.0), std::vector<double>(step.names.size(), 0.0),
                  std::vector<bool>(step.names.size(), false)};
  double before = 0;
  std::size_t last = 0;
  for (const Json& kernel : kernels) {
    const double seconds = kernel.at("seconds").get<double>();
    const auto named = by_name.find(kernel.at("name").get<std::string>());
    const auto alone = by_op.find(kernel.at("op").get<std::string>());
    const bool only_one = alone != by_op.end() && alone->second.second == 1;
    if (named == by_name.end() && !only_one) {
      before += seconds;
      continue;
    }
    last = named != by_name.end() ? named->second : alone->second.first;
    times.seconds[last] += seconds + before;
    times.workspace[last] = std::max(times.workspace[last], kernel.value("workspace_bytes", 0.0));
    times.ran[last] = true;
    before = 0;
  }
  if (!times.seconds.empty()) times.seconds[last] += before;
  share_update(step, times);
  return times;
}

std::vector<MeasuredRun::Kernel> counted(const StepShapes& step, const NodeTimes* times) {
  std::map<std::pair<std::string, ShapePlace>, std::size_t> positions;
  std::vector<MeasuredRun::Kernel> kernels;
  for (std::size_t n = 0; n < step.shapes.size(); ++n) {
    const KernelShape& shape = step.shapes[n];
    const auto [at, fresh] = positions.try_emplace({shape.kind, shape.place}, kernels.size());
    if (fresh) kernels.push_back({.shape = shape, .count = 0, .share = 0});
    MeasuredRun::Kernel& kernel = kernels[at->second];
    kernel.count += 1;
    if (times == nullptr || !times->ran[n]) continue;
    kernel.share += 1;
    kernel.seconds += times->seconds[n];
    kernel.workspace += times->workspace[n];
  }
  for (MeasuredRun::Kernel& kernel : kernels) {
    if (kernel.share > 0) kernel.seconds /= kernel.share, kernel.workspace /= kernel.share;
    kernel.share /= kernel.count;
  }
  return kernels;
}

}  // namespace

std::string StepJob::family() const { return networks::find_network(model.network).family; }

graph::Graph StepJob::graph() const {
  networks::Model built = networks::build_model(model);
  networks::add_training_step(built, {.rule = optimizer});
  return std::move(built.graph);
}

double MeasuredRun::kernel_seconds() const {
  double sum = 0;
  for (const Kernel& kernel : kernels) sum += kernel.count * kernel.share * kernel.seconds;
  return sum;
}

std::vector<MeasuredRun::Kernel> kernels_of(const StepJob& job) {
  return counted(step_shapes(job.graph(), job.precision), nullptr);
}

StepJob job_of(const record::RunRecord& record) {
  StepJob job;
  job.model.network = asked(record, "network", "");
  const networks::NetworkInfo& network = networks::find_network(job.model.network);
  job.model.batch =
      static_cast<std::int64_t>(record::number_or(record::to_value(asked(record, "batch", "0")), 0));
  job.model.classes = static_cast<int>(record::number_or(record::to_value(asked(record, "classes", "0")), 0));
  if (network.generator != nullptr)
    for (const networks::generator::Parameter& parameter : network.generator->parameters)
      if (const auto at = record.asked.find(parameter.name); at != record.asked.end())
        job.model.parameters[parameter.name] = record::to_text(at->second);
  job.optimizer = optimizer_named(asked(record, "optimizer", "sgd"));
  job.precision = precision_of(asked(record, "precision", "f32"));
  return job;
}

bool has_kernel_seconds(const record::RunRecord& record) {
  const auto ops = record.details.find("ops");
  return record.status == record::Status::ok && record.statistics.steps > 0 && ops != record.details.end() &&
         ops->second.find("\"kernels\"") != std::string::npos && asked(record, "mode", "train") == "train" &&
         asked(record, "devices", "1") == "1" && !asked(record, "network", "").empty();
}

MeasuredRun measured_run(const record::RunRecord& record, const std::string& device) {
  MeasuredRun run{.job = job_of(record)};
  run.device = device.empty() ? asked(record, "device", "cpu") : device;
  run.step_seconds = record.statistics.median;
  run.memory_bytes = record.figure_or("device_memory_bytes", record.figure_or("peak_memory_bytes", 0));
  const StepShapes step = step_shapes(run.job.graph(), run.job.precision);
  const NodeTimes times = times_of_nodes(Json::parse(record.details.at("ops")).at("kernels"), step);
  run.kernels = counted(step, &times);
  return run;
}

}  // namespace trainyard::predict
