#include "predict/analytic/fit_model.h"

namespace trainyard::predict {
namespace {

using Rows = std::vector<std::size_t>;

// Devices of the base come first, so that their indices do not change.
struct Seen {
  std::vector<DeviceModel> devices;
  std::vector<std::size_t> position;  // in `devices` of each device of the set
};

Seen devices_of(const RunSet& set, const Rows& rows, const TimeModel* base) {
  Seen seen;
  if (base != nullptr) seen.devices = base->devices;
  for (const DeviceSheet& device : set.devices) {
    const auto same = [&](const DeviceModel& one) { return same_device_name(one.device.name, device.name); };
    const auto at = std::find_if(seen.devices.begin(), seen.devices.end(), same);
    seen.position.push_back(static_cast<std::size_t>(at - seen.devices.begin()));
    if (at != seen.devices.end()) continue;
    DeviceModel fresh{device, first_of_device(), 0};
    if (base != nullptr) fresh = base->find(device.name, {device});
    seen.devices.push_back(fresh);
  }
  for (const std::size_t r : rows) seen.devices[seen.position[set.rows[r].device]].runs += 1;
  return seen;
}

void fit_time(const RunSet& set, const Rows& rows, const Seen& seen, const TimeModel* base,
              TimeModel& model) {
  std::set<std::size_t> wanted;
  std::vector<Observation> runs;
  for (const std::size_t r : rows) wanted.insert(seen.position[set.rows[r].device]);
  std::map<std::size_t, std::size_t> number;
  std::vector<DeviceSheet> devices;
  ConstantsPrior prior{.fixed_shared = base != nullptr};
  if (base != nullptr) prior.shared = base->shared;
  for (const std::size_t position : wanted) {
    number[position] = devices.size();
    devices.push_back(seen.devices[position].device);
    prior.own.push_back(seen.devices[position].constants);
  }
  for (const std::size_t r : rows) {
    const RunSet::Row& row = set.rows[r];
    runs.push_back(
        {row.work, number[seen.position[row.device]], row.run.steps(), row.run.seconds, row.run.with_start});
  }
  const FittedConstants fitted = fit_constants(set.works, devices, runs, prior);
  model.shared = fitted.shared;
  model.devices = seen.devices;
  for (const auto& [position, own] : number) model.devices[position].constants = fitted.own[own];
}

// Sets how well the runs settle the constants.
void settle(const RunSet& set, const Rows& rows, const Seen& seen, const TimeModel* base, TimeModel& model) {
  std::vector<SettledRun> runs;
  std::vector<std::size_t> with_runs;  // positions in `model.devices`
  for (const std::size_t r : rows) {
    const RunSet::Row& row = set.rows[r];
    const std::size_t position = seen.position[row.device];
    auto at = std::find(with_runs.begin(), with_runs.end(), position);
    if (at == with_runs.end()) at = with_runs.insert(at, position);
    const DeviceModel& on = model.devices[position];
    runs.push_back({sensitivity_of(set.work(row), on.device, model.shared, on.constants, row.run.steps(),
                                   row.run.with_start),
                    static_cast<std::size_t>(at - with_runs.begin())});
  }
  const ConstantsCovariances all =
      covariances_of(runs, with_runs.size(), base != nullptr ? &base->shared_covariance : nullptr);
  model.shared_covariance = all.shared;
  for (std::size_t d = 0; d < with_runs.size(); ++d) model.devices[with_runs[d]].covariance = all.devices[d];
}

}  // namespace

std::vector<Residual::Sample> missed_by(const TimeModel& model, const RunSet& set, const Rows& rows) {
  std::map<std::pair<std::size_t, std::size_t>, std::pair<double, double>> sums;
  for (const std::size_t r : rows) {
    const RunSet::Row& row = set.rows[r];
    const DeviceModel on = model.find(row.run.device, {});
    const StepParts parts = step_parts(set.work(row), on.device, model.shared, on.constants);
    auto& [sum, count] = sums[{row.work, row.device}];
    sum += std::log(row.run.seconds / run_seconds(parts, on.constants, row.run.steps(), row.run.with_start));
    count += 1;
  }
  std::vector<Residual::Sample> samples;
  for (const auto& [key, sum] : sums) {
    const DeviceModel on = model.find(set.devices[key.second].name, {});
    const StepParts parts = step_parts(set.works[key.first], on.device, model.shared, on.constants);
    samples.push_back({place_of(set.works[key.first], parts, on.device), sum.first / sum.second, sum.second});
  }
  return samples;
}

MemoryModel fit_memory_of(const RunSet& set, const Rows& rows) {
  std::set<std::tuple<std::size_t, std::size_t, bool>> seen;
  std::vector<MemorySample> samples;
  for (const std::size_t r : rows) {
    const RunSet::Row& row = set.rows[r];
    const bool oom = row.run.end == RunEnd::oom;
    if (!seen.emplace(row.work, row.device, oom).second) continue;
    samples.push_back({memory_need(set.work(row)).total(), set.devices[row.device].memory_bytes, oom});
  }
  return fit_memory(samples);
}

namespace {

std::vector<UseSample> use_of_runs(const TimeModel& model, const RunSet& set, const Seen& seen,
                                   const Rows& rows) {
  std::vector<UseSample> samples;
  for (const std::size_t r : rows) {
    const RunSet::Row& row = set.rows[r];
    if (row.run.use.empty()) continue;
    const DeviceModel& on = model.devices[seen.position[row.device]];
    const StepParts parts = step_parts(set.work(row), on.device, model.shared, on.constants);
    samples.push_back(
        {use_place(place_of(set.work(row), parts, on.device), row.run.seconds), on.device.name, row.run.use});
    for (ResourceUse& use : samples.back().use) use.resource = resource_key(use.resource);
  }
  return samples;
}

}  // namespace

Rows all_rows(const RunSet& set) {
  Rows rows(set.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

Rows ended_well(const RunSet& set, const Rows& rows) {
  Rows kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
               [&](std::size_t r) { return set.rows[r].run.end == RunEnd::ok; });
  return kept;
}

TimeModel fit_model(const RunSet& set, const Rows& rows, const FitOptions& options) {
  for (const std::size_t r : rows)
    if (const backend::Precision precision = set.rows[r].run.precision; precision != backend::Precision::f32)
      fail(ErrorKind::config, "runs in {}: a model of this kind learns f32 alone", name(precision));
  const Rows good = ended_well(set, rows);
  if (good.empty()) fail(ErrorKind::config, "no run ended well: there is nothing to fit");
  const Seen seen = devices_of(set, good, options.base);
  TimeModel model;
  fit_time(set, good, seen, options.base, model);
  std::vector<Residual::Sample> earlier;
  if (options.base != nullptr) {
    earlier = options.base->residual.samples();
    model.networks = options.base->networks;
    model.memory = options.base->memory;
    model.calibration = options.base->calibration;
    model.shared_covariance = options.base->shared_covariance;
    model.runs = options.base->runs;
  }
  std::vector<Residual::Sample> samples = missed_by(model, set, good);
  samples.insert(samples.end(), earlier.begin(), earlier.end());
  model.residual = Residual(std::move(samples));
  model.runs += static_cast<double>(rows.size());
  for (const std::size_t r : good)
    if (std::find(model.networks.begin(), model.networks.end(), set.rows[r].run.network) ==
        model.networks.end())
      model.networks.push_back(set.rows[r].run.network);
  if (options.base == nullptr) model.memory = fit_memory_of(set, rows);
  if (options.learn_use)
    model.use = UseModel::fit(use_of_runs(model, set, seen, good),
                              options.base != nullptr ? &options.base->use : nullptr);
  const bool widened = options.base != nullptr && options.base->calibration.is_there();
  if (options.settle || options.calibrate || widened) settle(set, good, seen, options.base, model);
  if (options.calibrate) calibrate(set, good, earlier, options, model);
  return model;
}

}  // namespace trainyard::predict
