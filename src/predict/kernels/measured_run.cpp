#include "predict/kernels/measured_run.h"

namespace trainyard::predict {

networks::Model training_model(const JobDescription& job) {
  const NamedNetwork named = named_network(job.network);
  return build_training_step({.network = named.network,
                              .batch = job.batch,
                              .classes = job.classes,
                              .input = named.input,
                              .optimizer = job.optimizer,
                              .parameters = job.parameters});
}

namespace {

StepShapes shapes_of(const JobDescription& job) {
  return step_shapes(training_model(job).graph, job.precision);
}

// NodeTimes holds the seconds of one node of the step, including the copies into another layout or type that
// the plan put before it.
struct NodeTimes {
  std::vector<double> seconds;
  std::vector<bool> ran;
};

// One kernel updates every parameter that no gradient's own kernel updates. Its seconds are divided by bytes.
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
  // The update of a gradient's own kernel ran with it, not by itself.
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

NodeTimes times_of_nodes(const std::vector<TimedNode>& kernels, const StepShapes& step) {
  std::unordered_map<std::string, std::size_t> by_name;
  std::map<std::string, std::pair<std::size_t, int>> by_op;  // its first node, how many there are
  for (std::size_t n = 0; n < step.names.size(); ++n) {
    by_name[step.names[n]] = n;
    ++by_op.try_emplace(step.shapes[n].op, n, 0).first->second.second;
  }
  NodeTimes times{std::vector<double>(step.names.size(), 0.0), std::vector<bool>(step.names.size(), false)};
  double before = 0;
  std::size_t last = 0;
  for (const TimedNode& kernel : kernels) {
    const auto named = by_name.find(kernel.name);
    const auto alone = by_op.find(kernel.op);
    const bool only_one = alone != by_op.end() && alone->second.second == 1;
    if (named == by_name.end() && !only_one) {
      before += kernel.seconds;
      continue;
    }
    last = named != by_name.end() ? named->second : alone->second.first;
    times.seconds[last] += kernel.seconds + before;
    times.ran[last] = true;
    before = 0;
  }
  if (!times.seconds.empty()) times.seconds[last] += before;
  share_update(step, times);
  return times;
}

std::vector<AlikeKernels> counted(const StepShapes& step, const NodeTimes* times) {
  std::map<std::pair<std::string, ShapePlace>, std::size_t> positions;
  std::vector<AlikeKernels> kernels;
  for (std::size_t n = 0; n < step.shapes.size(); ++n) {
    const KernelShape& shape = step.shapes[n];
    const auto [at, fresh] = positions.try_emplace({shape.kind, shape.place}, kernels.size());
    if (fresh) kernels.push_back({.shape = shape, .count = 0});
    AlikeKernels& kernel = kernels[at->second];
    kernel.count += 1;
    if (times == nullptr || !times->ran[n]) continue;
    kernel.share += 1;
    kernel.seconds += times->seconds[n];
  }
  for (AlikeKernels& kernel : kernels) {
    if (kernel.share > 0) kernel.seconds /= kernel.share;
    kernel.share /= kernel.count;
  }
  return kernels;
}

}  // namespace

std::vector<AlikeKernels> kernels_of(const JobDescription& job) { return counted(shapes_of(job), nullptr); }

std::vector<AlikeKernels> measured_kernels(const TableRun& run) {
  const StepShapes step = shapes_of(describe(run, {}));
  const NodeTimes times = times_of_nodes(run.kernels, step);
  return counted(step, &times);
}

}  // namespace trainyard::predict
