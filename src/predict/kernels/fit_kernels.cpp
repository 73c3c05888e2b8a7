#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/parallel.h"
#include "predict/kernels/kernel_model.h"
#include "predict/kernels/kernel_times.h"

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
    if (at == devices.end()) at = devices.insert(devices.end(), {device, row.run.precision, {}, 0});
    at->runs += 1;
    runs.push_back({&row.run, measured_kernels(row.run), static_cast<std::size_t>(at - devices.begin()),
                    groups.try_emplace(group_of(row.run), static_cast<int>(groups.size())).first->second});
  }
  if (runs.empty())
    fail(ErrorKind::config, "no run has the seconds of its kernels: `bench {}` records them", Setting{"ops"});
  return runs;
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

// Adds errors of kernels, and intervals from errors of steps, each predicted as if its network had not been
// seen. Returns nothing when it was stopped.
std::optional<KernelModel> calibrated(KernelModel model, const std::vector<KernelRun>& runs,
                                      const std::function<bool()>& stop) {
  std::vector<KernelObservation> kernels = model.kernels();
  parallel_items(std::ssize(kernels), [&](std::int64_t k, int) {
    if (stop()) return;
    KernelObservation& one = kernels[static_cast<std::size_t>(k)];
    one.error = model.error_of(one);
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
      kernels.push_back({kernel.shape, run.device, run.group, kernel.seconds, kernel.share});
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

}  // namespace trainyard::predict
