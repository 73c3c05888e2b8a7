#include "stats/permutation.h"

#include "base/philox.h"

namespace trainyard::stats {

namespace {

constexpr double kLevel = 0.05;
constexpr double kMostCounted = 20'000;  // labellings; ten runs against ten have 184,756
constexpr int kDrawn = 1'999;

double weight_of(const Stratum& stratum) {
  const auto a = static_cast<double>(stratum.a.size()), b = static_cast<double>(stratum.b.size());
  return a * b / (a + b);
}

double labellings(const Stratum& stratum) {
  double count = 1;
  for (std::size_t i = 1; i <= stratum.a.size(); ++i)
    count *= static_cast<double>(stratum.b.size() + i) / static_cast<double>(i);
  return count;
}

double labellings(std::span<const Stratum> strata) {
  double count = 1;
  for (const Stratum& stratum : strata) count *= labellings(stratum);
  return count;
}

// The samples of both sides of a stratum in the order in which a centre takes them, so that the centres of
// any labelling are sums over one pass.
class Pool {
 public:
  Pool(const Stratum& stratum, Centre centre)
      : runs_of_a_(stratum.a.size()), centre_(centre), sorted_(stratum.a) {
    sorted_.insert(sorted_.end(), stratum.b.begin(), stratum.b.end());
    std::sort(sorted_.begin(), sorted_.end());
    if (centre == Centre::highest_third) std::reverse(sorted_.begin(), sorted_.end());
  }

  std::size_t size() const { return sorted_.size(); }
  std::size_t runs_of_a() const { return runs_of_a_; }

  // Centre of the samples that are not marked less that of those that are.
  double difference(std::span<const int> is_a) const {
    const Side side[] = {Side(sorted_.size() - runs_of_a_, centre_), Side(runs_of_a_, centre_)};
    double sums[] = {0, 0};
    std::size_t seen[] = {0, 0};
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      const int which = is_a[i];
      const std::size_t rank = seen[which]++;
      if (rank >= side[which].first && rank < side[which].end) sums[which] += sorted_[i];
    }
    return sums[0] / side[0].count() - sums[1] / side[1].count();
  }

 private:
  // Ranks that a side's centre is the mean of.
  struct Side {
    Side(std::size_t samples, Centre centre)
        : first(centre == Centre::median ? (samples - 1) / 2 : 0),
          end(centre == Centre::median ? samples / 2 + 1 : (samples + 2) / 3) {}
    double count() const { return static_cast<double>(end - first); }
    std::size_t first, end;
  };

  std::size_t runs_of_a_;
  Centre centre_;
  std::vector<double> sorted_;
};

// Returns the weighted differences of the centres for every labelling of one stratum.
std::vector<double> all_differences(const Stratum& stratum, Centre centre, double weight) {
  const Pool pool(stratum, centre);
  std::vector<int> is_a(pool.size(), 0);
  std::fill_n(is_a.begin(), pool.runs_of_a(), 1);
  std::vector<double> differences;
  do differences.push_back(weight * pool.difference(is_a));
  while (std::prev_permutation(is_a.begin(), is_a.end()));
  return differences;
}

// Draws labellings of one stratum, one after the other.
class DrawnLabels {
 public:
  DrawnLabels(const Stratum& stratum, Centre centre, std::uint64_t number)
      : philox_(number, stream_of("permutation test")), pool_(stratum, centre), is_a_(pool_.size(), 0) {
    std::fill_n(is_a_.begin(), pool_.runs_of_a(), 1);
  }

  double next_difference() {
    for (std::size_t i = 0; i + 1 < is_a_.size(); ++i) {
      if (used_ == words_.size()) {
        words_ = philox_.block(drawn_++);
        used_ = 0;
      }
      const std::uint64_t word = words_[used_++];
      std::swap(is_a_[i], is_a_[i + static_cast<std::size_t>((word * (is_a_.size() - i)) >> 32)]);
    }
    return pool_.difference(is_a_);
  }

 private:
  Philox philox_;
  std::uint64_t drawn_ = 0;
  Philox::Block words_{};
  std::size_t used_ = words_.size();
  Pool pool_;
  std::vector<int> is_a_;
};

// Returns the share of labellings whose difference is at least `observed`, with a margin for rounding.
double counted_share(std::span<const Stratum> strata, Centre centre, double sum_of_weights, double observed) {
  std::vector<std::vector<double>> differences;
  for (const Stratum& stratum : strata)
    differences.push_back(all_differences(stratum, centre, weight_of(stratum) / sum_of_weights));
  double beyond = 0;
  const std::function<void(std::size_t, double)> count = [&](std::size_t depth, double sum) {
    if (depth == differences.size()) {
      beyond += std::abs(sum) >= observed ? 1 : 0;
      return;
    }
    for (const double difference : differences[depth]) count(depth + 1, sum + difference);
  };
  count(0, 0);
  return beyond / labellings(strata);
}

double drawn_share(std::span<const Stratum> strata, Centre centre, double sum_of_weights, double observed) {
  std::vector<DrawnLabels> draws;
  for (std::size_t i = 0; i < strata.size(); ++i) draws.emplace_back(strata[i], centre, i);
  int beyond = 1;  // the true labels
  for (int draw = 0; draw < kDrawn; ++draw) {
    double sum = 0;
    for (std::size_t i = 0; i < strata.size(); ++i)
      sum += weight_of(strata[i]) / sum_of_weights * draws[i].next_difference();
    beyond += std::abs(sum) >= observed ? 1 : 0;
  }
  return static_cast<double>(beyond) / (kDrawn + 1);
}

std::vector<Stratum> shifted(std::span<const Stratum> strata, double shift) {
  std::vector<Stratum> result(strata.begin(), strata.end());
  for (Stratum& stratum : result)
    for (double& value : stratum.b) value -= shift;
  return result;
}

}  // namespace

double centre_of(std::span<const double> samples, Centre centre) {
  if (centre == Centre::median) return median(samples);
  const std::vector<double> sorted = sorted_copy(samples);
  const std::size_t third = (sorted.size() + 2) / 3;
  const std::span<const double> all(sorted);
  return mean(centre == Centre::highest_third ? all.last(third) : all.first(third));
}

Centres centres_of(std::span<const Stratum> strata, Centre centre) {
  Centres sum;
  double weights = 0;
  for (const Stratum& stratum : strata) {
    const double weight = weight_of(stratum);
    weights += weight;
    sum.a += weight * centre_of(stratum.a, centre);
    sum.b += weight * centre_of(stratum.b, centre);
  }
  return {sum.a / weights, sum.b / weights};
}

double permutation_p_value(std::span<const Stratum> strata, Centre centre) {
  double weights = 0;
  for (const Stratum& stratum : strata) weights += weight_of(stratum);
  const double difference = std::abs(centres_of(strata, centre).difference());
  const double observed = difference * (1 - 1e-9) - 1e-15;
  return labellings(strata) <= kMostCounted ? counted_share(strata, centre, weights, observed)
                                            : drawn_share(strata, centre, weights, observed);
}

double smallest_p_value(std::span<const Stratum> strata) {
  const double count = labellings(strata);
  return count <= kMostCounted ? std::min(2 / count, 1.0) : 1.0 / (kDrawn + 1);
}

std::optional<Interval> permutation_interval(std::span<const Stratum> strata, Centre centre) {
  if (smallest_p_value(strata) > kLevel) return std::nullopt;
  const double difference = centres_of(strata, centre).difference();
  double range = 0;
  for (const Stratum& stratum : strata) {
    const auto [least_a, most_a] = std::minmax_element(stratum.a.begin(), stratum.a.end());
    const auto [least_b, most_b] = std::minmax_element(stratum.b.begin(), stratum.b.end());
    range = std::max({range, *most_a - *least_a, *most_b - *least_b});
  }
  const auto end = [&](double sign) {
    double accepted = 0,
           rejected = 2 * range;  // so far apart no labelling but the true one parts them as far
    constexpr int kHalvings = 12;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (accepted + rejected) / 2;
      const double p = permutation_p_value(shifted(strata, difference + sign * middle), centre);
      (p > kLevel ? accepted : rejected) = middle;
    }
    return difference + sign * rejected;
  };
  return Interval{end(-1), end(1)};
}

}  // namespace trainyard::stats
