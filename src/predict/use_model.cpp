#include "predict/use_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace trainyard::predict {
namespace {

constexpr double kNoise = 0.3;        // variance of a run beside its like, over that between places
constexpr double kLengthScale = 1.5;  // of the logarithm of seconds
constexpr double kLeastShare = 5e-4;  // a sample of a run of ten minutes

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::vector<UseModel::Output> outputs_in(const std::vector<UseSample>& samples,
                                         std::vector<UseModel::Output> outputs) {
  for (const UseSample& sample : samples)
    for (const ResourceUse& use : sample.use)
      for (const bool peak : {false, true}) {
        const UseModel::Output output{use.resource, peak};
        if (std::isfinite(peak ? use.peak : use.burst) &&
            std::find(outputs.begin(), outputs.end(), output) == outputs.end())
          outputs.push_back(output);
      }
  return outputs;
}

// NaN where no sample of the device (of any, where that is empty) says it.
double mean_share(const std::vector<UseSample>& samples, const std::string& device,
                  const UseModel::Output& output) {
  double sum = 0, count = 0;
  for (const UseSample& sample : samples) {
    const double share = share_in(sample.use, output.resource, output.peak);
    if (!std::isfinite(share) || !(device.empty() || sample.device == device)) continue;
    sum += share;
    count += 1;
  }
  return count > 0 ? sum / count : kUnknown;
}

// What the base has is kept; other outputs and devices have the means of the samples, or over all devices.
std::vector<UseModel::DeviceMeans> means_in(const std::vector<UseSample>& samples,
                                            const std::vector<UseModel::Output>& outputs,
                                            std::vector<UseModel::DeviceMeans> means) {
  if (means.empty()) means.push_back({});
  for (const UseSample& sample : samples)
    if (std::none_of(means.begin(), means.end(),
                     [&](const UseModel::DeviceMeans& one) { return one.device == sample.device; }))
      means.push_back({sample.device, {}});
  for (UseModel::DeviceMeans& one : means)
    for (std::size_t o = one.shares.size(); o < outputs.size(); ++o) {
      const double share = mean_share(samples, one.device, outputs[o]);
      one.shares.push_back(std::isfinite(share) ? share : means.front().shares[o]);
    }
  return means;
}

// Turns targets, NaN where they are not known, into weights. Runs mostly say all or the same outputs, so that
// one factor does for several.
void solve_weights(std::vector<UseModel::Row>& rows, std::size_t outputs) {
  std::vector<std::size_t> factored;
  CovarianceFactor factor;
  for (std::size_t o = 0; o < outputs; ++o) {
    std::vector<std::size_t> known;
    std::vector<double> targets;
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (std::isfinite(rows[r].weights[o])) {
        known.push_back(r);
        targets.push_back(rows[r].weights[o]);
      }
    if (known != factored) {
      factor = CovarianceFactor(known.size(), [&](std::size_t i, std::size_t j) {
        return i == j ? 1 + kNoise : similarity(rows[known[i]].place, rows[known[j]].place);
      });
      factored = known;
    }
    factor.solve(targets);
    for (UseModel::Row& row : rows) row.weights[o] = 0;
    for (std::size_t i = 0; i < known.size(); ++i) rows[known[i]].weights[o] = targets[i];
  }
}

// The other way: what the weights were made from.
std::vector<UseModel::Row> targets_of(const std::vector<UseModel::Row>& rows, std::size_t outputs) {
  std::vector<UseModel::Row> targets = rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    targets[i].weights.assign(outputs, kUnknown);
    for (std::size_t o = 0; o < rows[i].weights.size(); ++o)
      if (rows[i].weights[o] != 0) targets[i].weights[o] = kNoise * rows[i].weights[o];
    for (const UseModel::Row& other : rows) {
      const double shared = similarity(rows[i].place, other.place);
      for (std::size_t o = 0; o < other.weights.size(); ++o)
        targets[i].weights[o] += shared * other.weights[o];
    }
  }
  return targets;
}

void thin(std::vector<UseModel::Row>& rows) {
  if (rows.size() <= kMostUseRows) return;
  std::vector<UseModel::Row> kept;
  for (std::size_t i = 0; i < kMostUseRows; ++i) kept.push_back(rows[i * rows.size() / kMostUseRows]);
  rows = std::move(kept);
}

}  // namespace

double logit_of_share(double share) {
  const double inside = kLeastShare + (1 - 2 * kLeastShare) * share;
  return std::log(inside / (1 - inside));
}

double share_of_logit(double logit) {
  const double inside = 1 / (1 + std::exp(-logit));
  return std::clamp((inside - kLeastShare) / (1 - 2 * kLeastShare), 0.0, 1.0);
}

double share_in(const std::vector<ResourceUse>& use, const std::string& resource, bool peak) {
  for (const ResourceUse& one : use)
    if (one.resource == resource) return peak ? one.peak : one.burst;
  return kUnknown;
}

UsePlace use_place(const Place& place, double seconds) {
  UsePlace longer{};
  std::copy(place.begin(), place.end(), longer.begin());
  longer.back() = std::log(std::max(seconds, 1e-3)) / kLengthScale;
  return longer;
}

std::string resource_key(std::string_view name) {
  constexpr std::pair<std::string_view, const char*> kKeys[] = {
      {"GPU Util%", "gpu_util"},
      {"GPU Mem Util%", "gpu_memory_util"},
      {"GPU Memory", "gpu_memory"},
      {"CPU Util%", "cpu_util"},
      {"gpu0_busy_fraction", "gpu_util"},
      {"gpu0_memory_busy_fraction", "gpu_memory_util"},
      {"gpu0_memory_used_bytes", "gpu_memory"},
      {"cpu_cores", "cpu_util"},
      {"resident_bytes", "host_memory"}};
  for (const auto& [given, key] : kKeys)
    if (given == name) return key;
  return std::string(name);
}

UseModel::UseModel(std::vector<Output> outputs, std::vector<DeviceMeans> means, std::vector<Row> rows)
    : outputs_(std::move(outputs)), means_(std::move(means)), rows_(std::move(rows)) {}

UseModel UseModel::fit_means(const std::vector<UseSample>& samples, const UseModel* base) {
  UseModel model = base != nullptr ? *base : UseModel();
  model.outputs_ = outputs_in(samples, std::move(model.outputs_));
  if (!model.outputs_.empty()) model.means_ = means_in(samples, model.outputs_, std::move(model.means_));
  return model;
}

UseModel UseModel::fit(const std::vector<UseSample>& samples, const UseModel* base) {
  UseModel model = fit_means(samples, base);
  const std::size_t outputs = model.outputs_.size();
  if (samples.empty() || outputs == 0) return model;
  model.rows_ = targets_of(model.rows_, outputs);
  for (const UseSample& sample : samples) {
    Row row{sample.place, {}};
    const std::vector<double>& mean = model.means_of(sample.device).shares;
    for (std::size_t o = 0; o < outputs; ++o) {
      const double share = share_in(sample.use, model.outputs_[o].resource, model.outputs_[o].peak);
      row.weights.push_back(std::isfinite(share) ? logit_of_share(share) - logit_of_share(mean[o])
                                                 : kUnknown);
    }
    model.rows_.push_back(std::move(row));
  }
  thin(model.rows_);
  solve_weights(model.rows_, outputs);
  return model;
}

const UseModel::DeviceMeans& UseModel::means_of(std::string_view device) const {
  for (const DeviceMeans& one : means_)
    if (!one.device.empty() && same_device_name(one.device, device)) return one;
  return means_.front();
}

std::vector<ResourceUse> UseModel::named(const std::vector<double>& shares) const {
  std::vector<ResourceUse> use;
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    auto at = std::find_if(use.begin(), use.end(),
                           [&](const ResourceUse& one) { return one.resource == outputs_[o].resource; });
    if (at == use.end()) at = use.insert(use.end(), {outputs_[o].resource, kUnknown, kUnknown, kUnknown});
    if (outputs_[o].peak) {
      at->peak = shares[o];
    } else {
      at->burst = shares[o];
      at->idle = 1 - shares[o];
    }
  }
  return use;
}

std::vector<ResourceUse> UseModel::at(const UsePlace& place, std::string_view device) const {
  if (outputs_.empty()) return {};
  std::vector<double> shares(outputs_.size());
  for (const Row& row : rows_) {
    const double shared = similarity(place, row.place);
    for (std::size_t o = 0; o < shares.size(); ++o) shares[o] += shared * row.weights[o];
  }
  const std::vector<double>& mean = means_of(device).shares;
  for (std::size_t o = 0; o < shares.size(); ++o)
    shares[o] = share_of_logit(logit_of_share(mean[o]) + shares[o]);
  return named(shares);
}

std::vector<ResourceUse> UseModel::usual(std::string_view device) const {
  if (outputs_.empty()) return {};
  return named(means_of(device).shares);
}

}  // namespace trainyard::predict
