#include "predict/kernels/nearest_process.h"

#include "stats/gaussian_process.h"

namespace trainyard::predict {
namespace {

// Standard deviations of logarithms: among all samples of a kind, and of one measurement.
constexpr double kSpread = 0.3, kNoise = 0.12;
// The slope along one dimension has this standard deviation.
constexpr double kSlope = 0.13;
constexpr std::size_t kNeighbours = 64;
// Devices have little in common at this many doublings of a rate; another device is at least kOtherDevice
// away.
constexpr double kRateScale = 1.5, kOtherDevice = 0.7;

double square_between(const ShapePlace& a, const ShapePlace& b) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return square;
}

double square_between(const PlacedSample& a, const PlacedSample& b) {
  return square_between(a.place, b.place) + square_between(a.rates, b.rates);
}

}  // namespace

double Rates::seconds(const KernelShape& shape) const {
  constexpr double kTile = 64.0 * 64.0, kSplit = 512;  // longer sums are split among processors
  const double tiles = shape.rows * shape.columns / kTile * std::max(1.0, shape.inner / kSplit);
  const double product = shape.flops / flops_per_second * (1 + half_columns / shape.columns) *
                         (1 + half_inner / shape.inner) * (1 + half_tiles / tiles);
  return launch_seconds + product + shape.bytes / bytes_per_second;
}

double square_between(const Rates& a, const Rates& b) {
  if (a == b) return 0;
  const double flops = std::log2(a.flops_per_second / b.flops_per_second) / kRateScale,
               bytes = std::log2(a.bytes_per_second / b.bytes_per_second) / kRateScale;
  return flops * flops + bytes * bytes + kOtherDevice * kOtherDevice;
}

double likeness(double square) { return std::exp(-square / 2); }

namespace {

// Returns `so_far` plus the squared distance of two places, or any number from `enough` on where it is that
// much.
double square_up_to(double enough, const ShapePlace& a, const ShapePlace& b, double so_far) {
  constexpr std::size_t kAtOnce = 4;
  static_assert(kShapeDimensions % kAtOnce == 0);
  for (std::size_t i = 0; i < a.size() && so_far < enough; i += kAtOnce)
    for (std::size_t d = i; d < i + kAtOnce; ++d) so_far += (a[d] - b[d]) * (a[d] - b[d]);
  return so_far;
}

}  // namespace

std::vector<NearSample> nearest(const std::vector<PlacedSample>& samples, const ShapePlace& place,
                                const Rates& rates, int without) {
  const auto nearer = [](const NearSample& a, const NearSample& b) {
    return a.square != b.square ? a.square < b.square : a.sample < b.sample;
  };
  std::vector<NearSample> near;  // a heap, the farthest first
  Rates seen = rates;
  double of_rates = 0;  // between them and those seen last
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const PlacedSample& sample = samples[s];
    if (sample.group == without) continue;
    if (!(sample.rates == seen)) {
      seen = sample.rates;
      of_rates = square_between(rates, seen);
    }
    const bool full = near.size() == kNeighbours;
    const double farthest = full ? near.front().square : std::numeric_limits<double>::infinity();
    const double square = square_up_to(farthest, place, sample.place, of_rates);
    if (!(square < farthest)) continue;
    if (full) {
      std::pop_heap(near.begin(), near.end(), nearer);
      near.pop_back();
    }
    near.push_back({square, s});
    std::push_heap(near.begin(), near.end(), nearer);
  }
  std::sort_heap(near.begin(), near.end(), nearer);
  return near;
}

PlacedEstimate estimate(const std::vector<PlacedSample>& samples, const std::vector<NearSample>& near,
                        const ShapePlace& place) {
  const std::size_t count = near.size();
  const stats::CovarianceFactor factor(count, [&](std::size_t i, std::size_t j) {
    const PlacedSample &a = samples[near[i].sample], &b = samples[near[j].sample];
    const double common = kSpread * kSpread * likeness(square_between(a, b));
    double slopes = 0;  // nothing of them is left at the place itself
    for (std::size_t d = 0; d < place.size(); ++d)
      slopes += (a.place[d] - place[d]) * (b.place[d] - place[d]);
    return common + kSlope * kSlope * slopes + (i == j ? kNoise * kNoise : 0);
  });
  std::vector<double> toward(count), ones(count, 1.0), values(count);
  for (std::size_t i = 0; i < count; ++i) {
    toward[i] = kSpread * kSpread * likeness(near[i].square);
    values[i] = samples[near[i].sample].value;
  }
  std::vector<double> solved = toward;
  factor.solve(values);
  factor.solve(ones);
  factor.solve(solved);
  double sum_values = 0, sum_ones = 0;
  for (std::size_t i = 0; i < count; ++i) sum_values += values[i], sum_ones += ones[i];
  const double mean = sum_values / sum_ones;
  PlacedEstimate made{.value = mean};
  for (std::size_t i = 0; i < count; ++i) {
    made.value += toward[i] * (values[i] - mean * ones[i]);
    made.known += toward[i] * solved[i];
  }
  made.known = std::clamp(made.known / (kSpread * kSpread), 0.0, 1.0);
  return made;
}

}  // namespace trainyard::predict
