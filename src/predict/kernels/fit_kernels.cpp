#include <iterator>

#include "base/error.h"
#include "base/parallel.h"
#include "predict/kernels/kernel_memory.h"
#include "predict/kernels/kernel_model.h"
#include "predict/kernels/kernel_times.h"
#include "predict/kernels/measured_run.h"
#include "stats/statistics.h"

namespace trainyard::predict {

namespace {

// KernelRun is a run with its kernels, and its device and group in the model.
struct KernelRun {
  const TableRun* run;
  std::vector<AlikeKernels> kernels;
  std::size_t device = 0;
  int group = 0;

  double step_seconds() const { return run->seconds / run->steps(); }
  double kernel_seconds() const {
    double sum = 0;
    for (const AlikeKernels& kernel : kernels) sum += kernel.count * kernel.share * kernel.seconds;
    return sum;
  }
};

// Networks that share blocks are held out together: a family, or one generated network.
std::string group_of(const TableRun& run) {
  std::string group = family_of(run.network);
  for (const auto& [name, value] : run.parameters) group += " " + name + " " + value;
  return group;
}

std::vector<KernelRun> runs_with_kernels(const RunSet& set, const std::vector<std::size_t>& rows,
                                         std::vector<DeviceRates>& devices) {
  std::map<std::string, int> groups;
  std::vector<KernelRun> runs;
  for (const std::size_t r : rows) {
    const RunSet::Row& row = set.rows[r];
    if (row.run.kernels.empty() || row.run.end != RunEnd::ok) continue;
    const DeviceSheet& device = set.devices[row.device];
    const auto same = [&](const DeviceRates& one) {
      return one.precision == row.run.precision && same_device_name(one.device.name, device.name);
    };
    auto at = std::find_if(devices.begin(), devices.end(), same);
    if (at == devices.end()) at = devices.insert(devices.end(), {device, row.run.precision, {}, 0, {}, {}});
    at->runs += 1;
    at->families[family_of(row.run.network)] += 1;
    runs.push_back({&row.run, measured_kernels(row.run), static_cast<std::size_t>(at - devices.begin()),
                    groups.try_emplace(group_of(row.run), static_cast<int>(groups.size())).first->second});
  }
  if (runs.empty())
    fail(ErrorKind::config, "no run has the seconds of its kernels: `bench {}` records them", Setting{"ops"});
  return runs;
}

// Rounds to what a measurement tells, so that files are small: 12 bits are 0.02 %.
double rounded(double value) {
  constexpr int kBits = 12;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, kBits)), exponent - kBits);
}

// A kernel weighs by its share of its run; above a twentieth, all weigh alike.
constexpr double kWeight = 20;

void fit_device(const std::vector<KernelRun>& runs, std::size_t number, DeviceRates& device) {
  std::vector<TimedShape> timed;
  for (const KernelRun& run : runs) {
    if (run.device != number) continue;
    const double all = run.kernel_seconds();
    for (const AlikeKernels& kernel : run.kernels)
      if (kernel.share > 0 && kernel.seconds > 0)
        timed.push_back({&kernel.shape, kernel.seconds,
                         std::min(1.0, kWeight * kernel.count * kernel.share * kernel.seconds / all)});
  }
  device.rates = fit_rates(timed, {.flops_per_second = device.device.flops_per_second,
                                   .bytes_per_second = device.device.bytes_per_second,
                                   .launch_seconds = device.device.launch_seconds});
}

double rounded_error(double error) { return std::round(100 * error) / 100; }

// Adds errors of kernels, and intervals from errors of steps, each predicted as if its network had not been
// seen. Returns nothing when it was stopped.
std::optional<KernelModel> calibrated(KernelModel model, const std::vector<KernelRun>& runs,
                                      const std::function<bool()>& stop) {
  std::vector<KernelObservation> kernels = model.kernels();
  parallel_items(std::ssize(kernels), [&](std::int64_t k, int) {
    if (stop()) return;
    KernelObservation& one = kernels[static_cast<std::size_t>(k)];
    one.error = rounded_error(model.error_of(one));
  });
  model = KernelModel(model.devices(), std::move(kernels), model.steps());
  std::vector<JudgedStep> judged(runs.size());
  parallel_items(std::ssize(runs), [&](std::int64_t r, int) {
    if (stop()) return;
    const KernelRun& run = runs[static_cast<std::size_t>(r)];
    JudgedStep& one = judged[static_cast<std::size_t>(r)];
    one.step = model.step(run.kernels, model.devices()[run.device].rates, run.group);
    one.error = std::abs(std::log(run.step_seconds() / one.step.seconds));
  });
  if (stop()) return std::nullopt;
  model.intervals = calibrate(judged);
  return model;
}

}  // namespace

KernelModel fit_kernel_model(const RunSet& set, const std::vector<std::size_t>& rows, bool with_intervals,
                             const std::function<bool()>& stop) {
  const auto stopped = [&] { return stop != nullptr && stop(); };
  std::vector<DeviceRates> devices;
  const std::vector<KernelRun> runs = runs_with_kernels(set, rows, devices);
  for (std::size_t d = 0; d < devices.size(); ++d) fit_device(runs, d, devices[d]);
  std::vector<KernelObservation> kernels;
  std::vector<StepObservation> steps;
  std::vector<std::string> networks;
  for (const KernelRun& run : runs) {
    std::vector<double> seconds;
    for (const AlikeKernels& kernel : run.kernels) {
      kernels.push_back({kernel.shape, run.device, run.group, rounded(kernel.seconds), kernel.share});
      seconds.push_back(kernel.share * kernel.seconds);
    }
    steps.push_back({place_of_step(run.kernels, seconds), run.device, run.group,
                     std::log(run.step_seconds() / run.kernel_seconds())});
    if (std::find(networks.begin(), networks.end(), run.run->network) == networks.end())
      networks.push_back(run.run->network);
  }
  KernelModel model(std::move(devices), std::move(kernels), std::move(steps));
  if (with_intervals)
    if (std::optional<KernelModel> better = calibrated(model, runs, stopped)) model = *std::move(better);
  model.networks = std::move(networks);
  model.runs = static_cast<double>(runs.size());
  if (!stopped()) model.memory = fit_kernel_memory(set, rows);
  return model;
}

namespace {

// AlikeNodes counts the equal nodes of one run once, with the mean of their workspace.
struct AlikeNodes {
  NodeOperands node;
  double count = 0, workspace_bytes = 0;
  bool taken = true, known = true;
};

void add_habits(const TableRun& run, std::vector<NodeHabit>& habits) {
  const networks::Model model = training_model(work_options(describe(run, {})));
  const OperandsByName operands = operands_by_name(model.graph, run.precision);
  std::set<std::pair<std::string, std::string>> ran;
  std::map<std::pair<std::string, ShapePlace>, AlikeNodes> alike;
  for (const TimedNode& kernel : run.kernels) {
    ran.insert({kernel.name, kernel.op});
    const auto at = operands.find(kernel.name);
    if (at == operands.end() || !(at->second.bytes() > 0)) continue;
    AlikeNodes& nodes = alike[{kernel.op, at->second.place}];
    nodes.node = at->second;
    nodes.count += 1;
    nodes.known = nodes.known && kernel.workspace_bytes >= 0;
    nodes.workspace_bytes += kernel.workspace_bytes;
  }
  for (const plan::Step& fused : plan_all_fused(model.graph, run.precision).steps)
    if (const auto at = operands.find(fused.name);
        at != operands.end() && at->second.bytes() > 0 && !ran.contains({fused.name, fused.op}))
      alike[{fused.op, at->second.place}] = {.node = at->second, .count = 1, .taken = false};
  for (const auto& [key, nodes] : alike)
    habits.push_back(
        {.op = key.first,
         .node = nodes.node,
         .taken = nodes.taken,
         .ratio = nodes.known ? rounded(nodes.workspace_bytes / nodes.count / nodes.node.bytes()) : -1});
}

// Drops ops that are always taken and never need workspace, because nothing need be learned about them.
void drop_plain_ops(std::vector<NodeHabit>& habits) {
  std::set<std::string> telling;
  for (const NodeHabit& one : habits)
    if (!one.taken || one.ratio > 0) telling.insert(one.op);
  std::erase_if(habits, [&](const NodeHabit& one) { return !telling.contains(one.op); });
}

// OverheadSample is the overhead of one run beside its terms.
struct OverheadSample {
  OverheadTerms terms{};
  double bytes = 0, peak_bytes = 0;
};

// Finds x >= 0 that minimises |weight (a x - b)|, one term after the other until they converge.
OverheadTerms solve_nonnegative(const std::vector<OverheadSample>& samples,
                                const std::vector<double>& weights) {
  constexpr int kRounds = 500;
  double products[kOverheadTerms][kOverheadTerms] = {}, right[kOverheadTerms] = {};
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const OverheadSample& one = samples[s];
    const double weight = weights[s] / (one.peak_bytes * one.peak_bytes);
    for (std::size_t i = 0; i < kOverheadTerms; ++i) {
      right[i] += weight * one.terms[i] * one.bytes;
      for (std::size_t j = 0; j < kOverheadTerms; ++j) products[i][j] += weight * one.terms[i] * one.terms[j];
    }
  }
  OverheadTerms x{};
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < kOverheadTerms; ++i) {
      if (!(products[i][i] > 0)) continue;
      double rest = right[i];
      for (std::size_t j = 0; j < kOverheadTerms; ++j)
        if (j != i) rest -= products[i][j] * x[j];
      x[i] = std::max(rest / products[i][i], 0.0);
    }
  return x;
}

// No term takes less than zero bytes. An error weighs by its share of the run's memory, and a large one by
// its size instead of its square.
OverheadTerms fit_overhead(const std::vector<OverheadSample>& samples) {
  constexpr std::size_t kRunsPerTerm = 3;
  constexpr double kTolerated = 0.01;
  constexpr int kReweighted = 15;
  OverheadTerms overhead{};
  if (samples.size() < kRunsPerTerm * kOverheadTerms) {
    std::vector<double> all;
    for (const OverheadSample& one : samples) all.push_back(one.bytes);
    overhead[0] = std::max(stats::median(all), 0.0);
    return overhead;
  }
  std::vector<double> weights(samples.size(), 1.0);
  for (int round = 0; round < kReweighted; ++round) {
    overhead = solve_nonnegative(samples, weights);
    for (std::size_t s = 0; s < samples.size(); ++s) {
      double error = -samples[s].bytes;
      for (std::size_t t = 0; t < kOverheadTerms; ++t) error += overhead[t] * samples[s].terms[t];
      weights[s] = 1 / std::max(std::abs(error) / samples[s].peak_bytes, kTolerated);
    }
  }
  return overhead;
}

}  // namespace

KernelMemory fit_kernel_memory(const RunSet& set, const std::vector<std::size_t>& rows) {
  std::vector<DeviceOverhead> devices;
  std::vector<std::vector<std::size_t>> rows_of;
  for (const std::size_t r : rows) {
    const TableRun& run = set.rows[r].run;
    if (run.end != RunEnd::ok || !(run.memory.plan_bytes > 0)) continue;
    const auto same = [&](const DeviceOverhead& one) {
      return one.precision == run.precision && one.device == run.device;
    };
    auto at = std::find_if(devices.begin(), devices.end(), same);
    if (at == devices.end()) {
      at = devices.insert(devices.end(), {run.device, run.precision, run.memory.backend, run.memory.threads});
      rows_of.emplace_back();
    }
    at->runs += 1;
    rows_of[static_cast<std::size_t>(at - devices.begin())].push_back(r);
  }
  std::map<std::string, std::vector<OverheadSample>> samples;  // a device's, in all precisions
  for (std::size_t d = 0; d < devices.size(); ++d) {
    DeviceOverhead& device = devices[d];
    const Planner host{device.backend, device.threads, {}};
    if (!host.on_host()) {
      for (const std::size_t r : rows_of[d])
        if (!set.rows[r].run.kernels.empty()) add_habits(set.rows[r].run, device.habits);
      drop_plain_ops(device.habits);
    }
    const Planner planner{device.backend, device.threads, KernelHabits(device.habits)};
    for (const std::size_t r : rows_of[d]) {
      const TableRun& run = set.rows[r].run;
      if (!(run.memory.peak_bytes > 0)) continue;
      const JobDescription job = describe(run, set.devices[set.rows[r].device]);
      samples[device.device].push_back({overhead_terms(plan_step(job, planner), planner.on_host(),
                                                       run.seconds / run.steps(), run.steps(), true),
                                        run.memory.peak_bytes - run.memory.plan_bytes,
                                        run.memory.peak_bytes});
    }
  }
  std::erase_if(devices, [&](const DeviceOverhead& one) { return !samples.contains(one.device); });
  for (DeviceOverhead& device : devices) device.overhead = fit_overhead(samples[device.device]);
  return KernelMemory(std::move(devices));
}

}  // namespace trainyard::predict
