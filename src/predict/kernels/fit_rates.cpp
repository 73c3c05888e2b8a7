#include "predict/kernels/fit_rates.h"

#include <cmath>

#include "analyze/robust_fit.h"

namespace trainyard::predict {
namespace {

constexpr double kTolerated = 0.3;  // errors beyond this, as logarithms, count less
// Firsts of what no peak tells, and how much a doubling away from the first weighs, in kernels.
constexpr double kFirstColumns = 16, kFirstInner = 32, kFirstTiles = 16;
constexpr double kPull = 3;

Rates rates_at(const Rates& first, const std::vector<double>& logarithms) {
  return {first.flops_per_second * std::exp(logarithms[0]),
          first.bytes_per_second * std::exp(logarithms[1]),
          first.launch_seconds * std::exp(logarithms[2]),
          kFirstColumns * std::exp(logarithms[3]),
          kFirstInner * std::exp(logarithms[4]),
          kFirstTiles * std::exp(logarithms[5])};
}

}  // namespace

Rates fit_rates(const std::vector<TimedShape>& kernels, const Rates& first) {
  constexpr std::size_t kConstants = 6;
  constexpr int kRounds = 40;
  const auto residuals_of = [&](const std::vector<double>& logarithms, std::vector<double>& residuals) {
    const Rates rates = rates_at(first, logarithms);
    residuals.resize(kernels.size() + kConstants);
    for (std::size_t k = 0; k < kernels.size(); ++k)
      residuals[k] =
          std::sqrt(kernels[k].weight) * std::log(rates.seconds(*kernels[k].shape) / kernels[k].seconds);
    for (std::size_t c = 0; c < kConstants; ++c)
      residuals[kernels.size() + c] = kPull * kTolerated * logarithms[c];
  };
  return rates_at(
      first, analyze::fit_robustly(std::vector<double>(kConstants, 0.0), kTolerated, residuals_of, kRounds)
                 .parameters);
}

}  // namespace trainyard::predict
