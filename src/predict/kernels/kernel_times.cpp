#include "predict/kernels/kernel_times.h"

#include <algorithm>
#include <cmath>

#include "analyze/cholesky.h"

namespace trainyard::predict {
namespace {

// Deviations of logarithms: among all kernels of a kind, and of one measurement.
constexpr double kSpread = 0.5, kNoise = 0.06;
constexpr std::size_t kNeighbours = 40;
constexpr std::size_t kFewest = 4;  // samples of a kind that say anything
// Doublings of a rate at which devices have little in common, and what another device is away at least.
constexpr double kRateScale = 1.5, kOtherDevice = 0.7;

double square_between(const ShapePlace& a, const ShapePlace& b) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return square;
}

double square_between(const Rates& a, const Rates& b) {
  const double flops = std::log2(a.flops_per_second / b.flops_per_second) / kRateScale,
               bytes = std::log2(a.bytes_per_second / b.bytes_per_second) / kRateScale;
  const double square = flops * flops + bytes * bytes;
  return square == 0 ? 0 : square + kOtherDevice * kOtherDevice;
}

double likeness(double square) { return std::exp(-square / 2); }

}  // namespace

int KernelTimes::add_rates(const Rates& rates) {
  rates_.push_back(rates);
  return static_cast<int>(rates_.size()) - 1;
}

void KernelTimes::add(const KernelShape& shape, const KernelSample& sample) {
  samples_[shape.kind].push_back(sample);
  if (shape.kind != shape.op) samples_[shape.op].push_back(sample);
}

std::vector<KernelTimes::Near> KernelTimes::nearest(const std::string& kind, const ShapePlace& place,
                                                    const Rates& rates, int without) const {
  std::vector<Near> near;
  const auto at = samples_.find(kind);
  if (at == samples_.end()) return near;
  std::vector<double> between;
  for (const Rates& other : rates_) between.push_back(square_between(rates, other));
  near.reserve(at->second.size());
  for (const KernelSample& sample : at->second)
    if (sample.group != without)
      near.push_back({square_between(place, sample.place) + between[static_cast<std::size_t>(sample.rates)],
                      &sample});
  const std::size_t kept = std::min(near.size(), kNeighbours);
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(kept), near.end(),
                    [](const Near& a, const Near& b) { return a.square < b.square; });
  near.resize(kept);
  return near;
}

KernelTimes::Estimate KernelTimes::at(const KernelShape& shape, const Rates& rates, int without) const {
  Estimate estimate{.seconds = rates.seconds(shape)};
  std::vector<Near> near = nearest(shape.op, shape.place, rates, without);
  if (near.empty()) return estimate;
  // Which part of such kernels runs at all, which depends on the neighbours, and with how much workspace.
  std::vector<Near> alike;
  if (shape.kind != shape.op) alike = nearest(shape.kind, shape.place, rates, without);
  if (alike.size() < kFewest) alike = near;
  double weights = 0, share = 0, workspace = 0;
  for (const Near& one : alike) {
    const double weight = likeness(one.square) + 1e-6;
    weights += weight;
    share += weight * one.sample->share;
    workspace += weight * one.sample->workspace;
  }
  share /= weights;
  estimate.workspace = workspace / weights;
  std::erase_if(near, [](const Near& one) { return one.sample->share <= 0; });
  if (near.empty() || share <= 0) return {.known = 1};
  // Ordinary kriging: the mean of the neighbourhood is not known beforehand.
  const std::size_t count = near.size();
  analyze::LowerTriangle covariance(count);
  std::vector<double> toward(count), ones(count, 1.0), values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const KernelSample& a = *near[i].sample;
    for (std::size_t j = 0; j <= i; ++j) {
      const KernelSample& b = *near[j].sample;
      const double between = square_between(rates_[static_cast<std::size_t>(a.rates)],
                                            rates_[static_cast<std::size_t>(b.rates)]);
      covariance.at(i, j) = kSpread * kSpread * likeness(square_between(a.place, b.place) + between);
    }
    covariance.at(i, i) += kNoise * kNoise;
    toward[i] = kSpread * kSpread * likeness(near[i].square);
    values[i] = a.logarithm;
  }
  covariance.factorise();
  const std::vector<double> solved_values = covariance.solve(values), solved_ones = covariance.solve(ones);
  double sum_values = 0, sum_ones = 0;
  for (std::size_t i = 0; i < count; ++i) sum_values += solved_values[i], sum_ones += solved_ones[i];
  const double mean = sum_values / sum_ones;
  double logarithm = mean, explained = 0;
  const std::vector<double> solved_toward = covariance.solve(toward);
  for (std::size_t i = 0; i < count; ++i) {
    logarithm += toward[i] * (solved_values[i] - mean * solved_ones[i]);
    explained += toward[i] * solved_toward[i];
  }
  estimate.seconds *= share * std::exp(logarithm);
  estimate.known = std::clamp(explained / (kSpread * kSpread), 0.0, 1.0);
  return estimate;
}

}  // namespace trainyard::predict
