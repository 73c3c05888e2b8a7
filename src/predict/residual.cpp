#include "predict/residual.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace trainyard::predict {
namespace {

// Deviations, in logarithms: of what the analytic model misses of a network, of what a single run misses
// beside its like, and of a repetition.
constexpr double kMissed = 0.07;
constexpr double kScatter = 0.015;
constexpr double kRepetition = 0.03;
// Distances at which two places have little in common.
constexpr double kShareScale = 0.12;
constexpr double kBatchScale = 2.0;  // doublings
constexpr double kSizeScale = 1.2;   // of logarithms of launches and parameters
constexpr double kSlotScale = 3.0;
constexpr double kDeviceScale = 1.0;  // of logarithms of rates

double covariance(const Place& a, const Place& b) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return kMissed * kMissed * std::exp(-square / 2);
}

std::size_t row_begin(std::size_t row) { return row * (row + 1) / 2; }

// Solves L y = b in place.
void forward_substitute(const std::vector<double>& factor, std::vector<double>& b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double* row = factor.data() + row_begin(i);
    double rest = b[i];
    for (std::size_t j = 0; j < i; ++j) rest -= row[j] * b[j];
    b[i] = rest / row[i];
  }
}

void backward_substitute(const std::vector<double>& factor, std::vector<double>& b) {
  for (std::size_t i = b.size(); i-- > 0;) {
    b[i] /= factor[row_begin(i) + i];
    for (std::size_t j = 0; j < i; ++j) b[j] -= factor[row_begin(i) + j] * b[i];
  }
}

// In place, of the lower triangle.
void factorise(std::vector<double>& matrix, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    double* row = matrix.data() + row_begin(i);
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = matrix.data() + row_begin(j);
      double rest = row[j];
      for (std::size_t k = 0; k < j; ++k) rest -= row[k] * other[k];
      row[j] = i == j ? std::sqrt(std::max(rest, 1e-300)) : rest / other[j];
    }
  }
}

}  // namespace

Place place_of(const NetworkWork& work, const StepParts& parts, const Device& device) {
  const double device_seconds = parts.device();
  const auto share = [&](double seconds) { return seconds / device_seconds / kShareScale; };
  return {share(parts.window_products),
          share(parts.other_products),
          share(parts.product_traffic),
          share(parts.norm),
          share(parts.other_traffic),
          share(parts.update),
          parts.host / (parts.host + device_seconds) / kShareScale,
          std::log2(static_cast<double>(work.batch)) / kBatchScale,
          std::log(work.launches()) / kSizeScale,
          work.state_slots / kSlotScale,
          std::log(device.flops_per_second / device.bytes_per_second) / kDeviceScale * 4,
          std::log(device.multiprocessors) / kDeviceScale};
}

Residual::Residual(std::vector<Sample> samples) : samples_(std::move(samples)) {
  const std::size_t count = samples_.size();
  factor_.resize(row_begin(count));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      factor_[row_begin(i) + j] = covariance(samples_[i].place, samples_[j].place);
    factor_[row_begin(i) + i] =
        kMissed * kMissed + kScatter * kScatter + kRepetition * kRepetition / samples_[i].runs;
    weights_.push_back(samples_[i].error);
  }
  factorise(factor_, count);
  forward_substitute(factor_, weights_);
  backward_substitute(factor_, weights_);
}

Residual::Estimate Residual::at(const Place& place) const {
  Estimate estimate;
  std::vector<double> shared(samples_.size());
  for (std::size_t i = 0; i < shared.size(); ++i) {
    shared[i] = covariance(place, samples_[i].place);
    estimate.mean += shared[i] * weights_[i];
  }
  forward_substitute(factor_, shared);
  double explained = 0;
  for (const double value : shared) explained += value * value;
  estimate.known = std::clamp(explained / (kMissed * kMissed), 0.0, 1.0);
  return estimate;
}

}  // namespace trainyard::predict
