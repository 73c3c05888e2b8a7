#include "base/error.h"
#include "predict/kernels/kernel_model.h"
#include "stats/statistics.h"

namespace trainyard::predict {
namespace {

// OwnRun is a run of the device that a model is adapted to, and what the model says of it.
struct OwnRun {
  const TableRun* run;
  std::vector<AlikeKernels> kernels;
  bool timed = false;             // its kernels were
  std::vector<double> predicted;  // seconds of each of the kernels, as often as the step has it

  double step_seconds() const { return run->seconds / run->steps(); }
  double measured(std::size_t k) const { return kernels[k].count * kernels[k].share * kernels[k].seconds; }
};

// Levels say how much is corrected: nothing, the device as a whole, or each op as well.
enum class Level { nothing, whole, ops };
constexpr Level kLevels[] = {Level::nothing, Level::whole, Level::ops};

// A correction of 0 weighs as so many runs: the spread of the runs' ratios over that of devices, squared.
constexpr double kRunsOfWhole = 0.2, kRunsOfOp = 1, kRunsOfStep = 1;
// An op weighs by its share of a run; above a twentieth, all weigh alike.
constexpr double kOpWeight = 20;

// Returns the logarithm of measured over predicted seconds of the kernels, or where they were not timed of
// the step.
double ratio_of(const KernelModel& model, const Rates& rates, const OwnRun& own) {
  if (!own.timed) return std::log(own.step_seconds() / model.step(own.kernels, rates).seconds);
  double measured = 0, predicted = 0;
  for (std::size_t k = 0; k < own.kernels.size(); ++k) {
    measured += own.measured(k);
    predicted += own.predicted[k];
  }
  return std::log(measured / predicted);
}

std::map<std::string, double> corrections_of_ops(const std::vector<const OwnRun*>& runs, double whole) {
  struct Sum {
    double weights = 0, residuals = 0;
  };
  std::map<std::string, Sum> sums;
  for (const OwnRun* own : runs) {
    if (!own->timed) continue;
    std::map<std::string, std::pair<double, double>> of_op;  // measured, predicted
    double all = 0;
    for (std::size_t k = 0; k < own->kernels.size(); ++k) {
      auto& [measured, predicted] = of_op[own->kernels[k].shape.op];
      measured += own->measured(k);
      predicted += own->predicted[k];
      all += own->measured(k);
    }
    for (const auto& [op, seconds] : of_op) {
      const auto& [measured, predicted] = seconds;
      if (!(measured > 0 && predicted > 0)) continue;
      const double weight = std::min(1.0, kOpWeight * measured / all);
      sums[op].weights += weight;
      sums[op].residuals += weight * (std::log(measured / predicted) - whole);
    }
  }
  std::map<std::string, double> corrections;
  for (const auto& [op, sum] : sums) corrections[op] = sum.residuals / (sum.weights + kRunsOfOp);
  return corrections;
}

Corrections corrections_by(const KernelModel& model, const Rates& rates,
                           const std::vector<const OwnRun*>& runs, Level level) {
  Corrections made;
  if (level == Level::nothing || runs.empty()) return made;
  const auto count = static_cast<double>(runs.size());
  for (const OwnRun* own : runs) made.whole += ratio_of(model, rates, *own) / (count + kRunsOfWhole);
  if (level == Level::ops) made.of_op = corrections_of_ops(runs, made.whole);
  double steps = 0;
  for (const OwnRun* own : runs)
    steps += std::log(own->step_seconds() / model.step(own->kernels, rates, kNobody, made).seconds);
  made.step = steps / (count + kRunsOfStep);
  return made;
}

// OwnErrors holds how far each run is predicted off by the others, as a logarithm and in units of the
// deviation that the model would expect on a device that nobody measured.
struct OwnErrors {
  double mean = 0, squares = 0;
};

OwnErrors errors_of(const KernelModel& model, const Rates& rates, double doublings,
                    const std::vector<OwnRun>& runs, Level level) {
  OwnErrors errors;
  for (const OwnRun& one : runs) {
    std::vector<const OwnRun*> others;
    for (const OwnRun& other : runs)
      if (&other != &one) others.push_back(&other);
    const Corrections corrections = corrections_by(model, rates, others, level);
    const StepEstimate step = model.step(one.kernels, rates, kNobody, corrections);
    const double error = std::abs(std::log(one.step_seconds() / step.seconds)),
                 deviation = model.intervals.half_elsewhere(step, doublings) / kNormalQuantile;
    errors.mean += error / static_cast<double>(runs.size());
    if (deviation > 0) errors.squares += error * error / (deviation * deviation);
  }
  return errors;
}

// Corrects no more than helps runs that the corrections have not seen, by more than noise.
Adaptation adaptation_by(const KernelModel& model, const KnownRates& on, const std::vector<OwnRun>& runs) {
  constexpr double kNoise = 0.97;        // of the error
  constexpr double kExpectedRuns = 4.0;  // the width on an unknown device weighs as so many
  const Rates& rates = on.rates.rates;
  Level best = Level::nothing;
  OwnErrors least = errors_of(model, rates, on.doublings, runs, best);
  for (const Level level : kLevels) {
    if (level == Level::nothing || runs.size() < 2) continue;
    const OwnErrors errors = errors_of(model, rates, on.doublings, runs, level);
    if (errors.mean >= kNoise * least.mean) continue;
    least = errors;
    best = level;
  }
  std::vector<const OwnRun*> all;
  for (const OwnRun& one : runs) all.push_back(&one);
  const auto count = static_cast<double>(runs.size());
  return {.like = on.like,
          .doublings = on.doublings,
          .corrections = corrections_by(model, rates, all, best),
          .interval_factor = std::sqrt((kExpectedRuns + least.squares) / (kExpectedRuns + count))};
}

std::vector<OwnRun> own_runs(const KernelModel& model, const RunSet& set,
                             const std::vector<std::size_t>& rows, const KnownRates& on) {
  std::vector<OwnRun> runs;
  for (const std::size_t r : rows) {
    const TableRun& run = set.rows[r].run;
    OwnRun own{&run, {}, !run.kernels.empty(), {}};
    own.kernels = own.timed ? measured_kernels(run) : kernels_of(describe(run, on.rates.device));
    for (const AlikeKernels& kernel : own.kernels)
      own.predicted.push_back(kernel.count * model.kernel_seconds(kernel.shape, on.rates.rates));
    runs.push_back(std::move(own));
  }
  return runs;
}

// The process may take more or less memory than that of the device that is most like it.
KernelMemory adapted_memory(const KernelModel& model, const RunSet& set, const std::vector<std::size_t>& rows,
                            const KnownRates& on) {
  constexpr std::size_t kFewest = 3;
  if (model.memory.empty()) return model.memory;
  const std::size_t like = model.memory.find(on.like, on.rates.precision);
  std::vector<double> beside;
  for (const std::size_t r : rows) {
    const TableRun& run = set.rows[r].run;
    if (!(run.memory.peak_bytes > 0)) continue;
    JobDescription job = describe(run, on.rates.device);
    const PlannedStep plan = model.memory.plan(job, like);
    beside.push_back(run.memory.peak_bytes -
                     model.memory.need(plan, like, run.seconds / run.steps(), run.steps()).total());
  }
  std::vector<DeviceOverhead> devices = model.memory.devices();
  DeviceOverhead own = devices[like];
  own.device = on.rates.device.name;
  own.runs = static_cast<double>(beside.size());
  if (beside.size() >= kFewest) own.overhead[0] += stats::median(beside);
  std::erase_if(devices, [&](const DeviceOverhead& one) {
    return one.precision == own.precision && same_device_name(one.device, own.device);
  });
  devices.push_back(std::move(own));
  return KernelMemory(std::move(devices));
}

}  // namespace

KernelModel adapt_kernel_model(KernelModel model, const RunSet& set, const std::vector<std::size_t>& rows) {
  std::map<std::pair<std::size_t, backend::Precision>, std::vector<std::size_t>> by_device;
  for (const std::size_t r : rows)
    if (const RunSet::Row& row = set.rows[r]; row.run.end == RunEnd::ok)
      by_device[{row.device, row.run.precision}].push_back(r);
  if (by_device.empty()) fail(ErrorKind::config, "no run ended well: there is nothing to adapt to");
  for (const auto& [key, own] : by_device) {
    KnownRates on = model.find(set.devices[key.first], key.second);
    const Adaptation adaptation = adaptation_by(model, on, own_runs(model, set, own, on));
    model.memory = adapted_memory(model, set, own, on);
    on.rates.runs = static_cast<double>(own.size());
    on.rates.families.clear();
    for (const std::size_t r : own) on.rates.families[family_of(set.rows[r].run.network)] += 1;
    on.rates.device = set.devices[key.first];
    on.rates.adaptation = adaptation;
    model.add_device(std::move(on.rates));
  }
  return model;
}

}  // namespace trainyard::predict
