#include "predict/kernels/kernel_times.h"

#include "stats/least_squares.h"

namespace trainyard::predict {

namespace {

constexpr std::size_t kOperands = 3;

// Libraries choose among few algorithms, so only the nearest samples count.
double weight_of(const NearSample& near) {
  constexpr double kSharpness = 20, kFar = 1e-9;  // where all are far, each counts alike
  return likeness(kSharpness * near.square) + kFar;
}

// Spread is a number of the samples nearby, each with its weight.
struct Spread {
  double mean = 0, deviation = 0;  // over the mean
};
template <typename ValueOf>
Spread spread_of(const std::vector<double>& weights, const ValueOf& value_of) {
  double sum = 0, mean = 0, square = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    mean += weights[i] * value_of(i);
    square += weights[i] * value_of(i) * value_of(i);
  }
  mean /= sum;
  return {mean, mean > 0 ? std::sqrt(std::max(square / sum - mean * mean, 0.0)) / mean : 0};
}

std::array<double, kOperands> operands_of(const NodeOperands& node) {
  return {node.src_bytes, node.dst_bytes, node.weight_bytes};
}

}  // namespace

KernelHabits::KernelHabits(const std::vector<NodeHabit>& seen) {
  for (const NodeHabit& one : seen) {
    Table& table = tables_[one.op];
    table.taken.push_back({.place = one.node.place, .value = one.taken ? 1.0 : 0.0});
    table.all_taken = table.all_taken && one.taken;
    if (!one.taken || one.ratio < 0) continue;
    table.ratios.push_back({.place = one.node.place, .value = one.ratio});
    table.nodes.push_back(one.node);
    largest_bytes_ = std::max(largest_bytes_, one.ratio * one.node.bytes());
  }
}

bool KernelHabits::takes(const std::string& op, const NodeOperands& node) const {
  const auto at = tables_.find(op);
  if (at == tables_.end() || at->second.all_taken) return true;
  double weights = 0, taken = 0;
  for (const NearSample& one : nearest(at->second.taken, node.place, {}, kNobody)) {
    weights += weight_of(one);
    taken += weight_of(one) * at->second.taken[one.sample].value;
  }
  return taken >= 0.5 * weights;
}

double KernelHabits::workspace_bytes(const std::string& op, const NodeOperands& node) const {
  // Workspace is mostly copies of operands. The ratio of each operand is estimated around the mean of all, as
  // far as the samples nearby tell.
  constexpr double kTowardsMean = 0.005;
  // Workspace may also have a fixed size, where sizes nearby do not vary more than this factor times the
  // ratios.
  constexpr double kSteady = 1.5;
  // Transforms of operands are larger than the operands, and libraries have a limit: a kernel that would need
  // this many times the largest workspace seen uses none.
  constexpr double kBeyond = 1.1;
  const auto at = tables_.find(op);
  if (at == tables_.end() || at->second.ratios.empty() || !(node.bytes() > 0)) return 0;
  const Table& table = at->second;
  const std::vector<NearSample> near = nearest(table.ratios, node.place, {}, kNobody);
  std::vector<double> weights;
  for (const NearSample& one : near) weights.push_back(weight_of(one));
  const auto ratio = [&](std::size_t i) { return table.ratios[near[i].sample].value; };
  const auto its_node = [&](std::size_t i) -> const NodeOperands& { return table.nodes[near[i].sample]; };
  const Spread ratios = spread_of(weights, ratio);
  if (!(ratios.mean > 0)) return 0;
  double all = 0;
  for (const double weight : weights) all += weight;
  stats::Matrix shares(near.size() + kOperands, kOperands);
  std::vector<double> beyond(near.size() + kOperands, 0.0);
  for (std::size_t i = 0; i < near.size(); ++i) {
    const double root = std::sqrt(weights[i] / all);
    for (std::size_t o = 0; o < kOperands; ++o)
      shares(i, o) = root * operands_of(its_node(i))[o] / its_node(i).bytes();
    beyond[i] = root * (ratio(i) - ratios.mean);
  }
  for (std::size_t o = 0; o < kOperands; ++o) shares(near.size() + o, o) = std::sqrt(kTowardsMean);
  const std::vector<double> of_each = stats::solve_least_squares(std::move(shares), std::move(beyond));
  double bytes = std::max(ratios.mean * node.bytes() + stats::dot(operands_of(node), of_each), 0.0);
  const Spread sizes = spread_of(weights, [&](std::size_t i) { return ratio(i) * its_node(i).bytes(); });
  if (sizes.deviation < kSteady * ratios.deviation) bytes = std::min(bytes, sizes.mean);
  return bytes > node.bytes() && bytes > kBeyond * largest_bytes_ ? 0 : bytes;
}

namespace {

constexpr double kTolerated = 0.3;  // errors beyond this, as logarithms, count less
// These are the initial values of the constants that no peak gives, and the weight, in kernels, of a doubling
// away from them.
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
  return rates_at(first,
                  stats::fit_robustly(std::vector<double>(kConstants, 0.0), kTolerated, residuals_of, kRounds)
                      .parameters);
}

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

// Returns the root mean square of the nearest errors.
double error_nearby(const std::vector<double>& errors, const std::vector<NearSample>& near,
                    double otherwise) {
  constexpr int kNearest = 16;
  double squares = 0;
  int count = 0;
  for (const NearSample& one : near) {
    const double error = errors[one.sample];
    if (error < 0) continue;
    squares += error * error;
    if (++count == kNearest) break;
  }
  return count == 0 ? otherwise : std::sqrt(squares / count);
}

}  // namespace

namespace {

// Locates a kernel among those of all ops.
ShapePlace place_by_size(const KernelShape& shape) {
  const auto doublings = [](double value) { return std::log2(std::max(value, 1.0)); };
  if (shape.flops > 0)
    return {doublings(shape.rows) / 2.5, doublings(shape.columns) / 1.8, doublings(shape.inner) / 2.2};
  return {doublings(shape.bytes) / 2.5};
}

}  // namespace

void KernelTimes::Table::add_share(const PlacedSample& share) {
  shares.push_back(share);
  all_ran = all_ran && share.value == 1;
}

double KernelTimes::share_at(const KernelShape& shape, const Rates& rates, int without) const {
  const Table& of_op = tables_.at(shape.op);
  if (of_op.all_ran) return 1;
  if (const auto of_kind = tables_.find(shape.kind); of_kind != tables_.end()) {
    const std::vector<PlacedSample>& shares = of_kind->second.shares;
    const std::vector<NearSample> near = nearest(shares, shape.place, rates, without);
    if (near.size() >= kFewest) return mean_nearby(shares, near);
  }
  const std::vector<NearSample> near = nearest(of_op.shares, shape.place, rates, without);
  return near.empty() ? 1 : mean_nearby(of_op.shares, near);
}

void KernelTimes::add(const KernelShape& shape, const KernelSample& sample) {
  PlacedSample placed{shape.place, sample.rates, sample.group, sample.share};
  tables_[shape.kind].add_share(placed);
  Table& of_op = tables_[shape.op];
  if (shape.kind != shape.op) of_op.add_share(placed);
  if (!(sample.share > 0 && sample.seconds > 0)) return;
  placed.value = std::log(sample.seconds / sample.rates.seconds(shape));
  of_op.times.push_back(placed);
  of_op.errors.push_back(sample.error);
  placed.place = place_by_size(shape);
  (shape.flops > 0 ? products_ : others_).push_back(placed);
}

KernelTimes::Estimate KernelTimes::at(const KernelShape& shape, const Rates& rates, int without) const {
  Estimate made{.seconds = rates.seconds(shape)};
  if (const auto of_op = tables_.find(shape.op); of_op != tables_.end()) {
    made.seconds *= share_at(shape, rates, without);
    const std::vector<PlacedSample>& all = of_op->second.times;
    const std::vector<NearSample> near = nearest(all, shape.place, rates, without);
    if (!near.empty()) {
      const PlacedEstimate times = estimate(all, near, shape.place);
      made.seconds *= std::exp(times.value);
      made.known = times.known;
      made.error = error_nearby(of_op->second.errors, near, made.error);
      return made;
    }
  }
  const std::vector<PlacedSample>& of_size = shape.flops > 0 ? products_ : others_;
  const ShapePlace place = place_by_size(shape);
  if (const std::vector<NearSample> near = nearest(of_size, place, rates, without); !near.empty())
    made.seconds *= std::exp(estimate(of_size, near, place).value);
  return made;
}

}  // namespace trainyard::predict
