#include "predict/kernels/kernel_times.h"

#include <algorithm>
#include <cmath>

namespace trainyard::predict {
namespace {

constexpr std::size_t kFewest = 4;  // samples of a kind that say anything

double mean_nearby(const std::vector<PlacedSample>& samples, const std::vector<NearSample>& near) {
  constexpr double kFar = 1e-6;  // where all are far, each counts alike
  double weights = 0, sum = 0;
  for (const NearSample& one : near) {
    const double weight = likeness(4 * one.square) + kFar;
    weights += weight;
    sum += weight * samples[one.sample].value;
  }
  return sum / weights;
}

}  // namespace

void KernelTimes::add(const KernelShape& shape, const KernelSample& sample) {
  PlacedSample placed{shape.place, sample.rates, sample.group, sample.share};
  tables_[shape.kind].shares.push_back(placed);
  Table& of_op = tables_[shape.op];
  if (shape.kind != shape.op) of_op.shares.push_back(placed);
  if (!(sample.share > 0 && sample.seconds > 0)) return;
  placed.value = std::log(sample.seconds / sample.rates.seconds(shape));
  of_op.times.push_back(placed);
}

KernelTimes::Estimate KernelTimes::at(const KernelShape& shape, const Rates& rates, int without) const {
  Estimate made{.seconds = rates.seconds(shape)};
  const auto of_op = tables_.find(shape.op), of_kind = tables_.find(shape.kind);
  if (of_op == tables_.end()) return made;
  const Table* told = &of_op->second;
  std::vector<NearSample> near;
  if (of_kind != tables_.end()) near = nearest(of_kind->second.shares, shape.place, rates, without);
  if (near.size() >= kFewest)
    told = &of_kind->second;
  else
    near = nearest(told->shares, shape.place, rates, without);
  const double share = near.empty() ? 1 : mean_nearby(told->shares, near);
  made.seconds *= share;
  const Table& table = of_op->second;
  near = nearest(table.times, shape.place, rates, without);
  if (near.empty()) return made;
  const PlacedEstimate times = estimate(table.times, near, shape.place);
  made.seconds *= std::exp(times.value);
  made.known = times.known;
  return made;
}

}  // namespace trainyard::predict
