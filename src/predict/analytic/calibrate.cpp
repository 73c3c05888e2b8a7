#include "predict/analytic/fit_model.h"
#include "stats/least_squares.h"

namespace trainyard::predict {
namespace {

using Rows = std::vector<std::size_t>;

constexpr int kFolds = 5;
constexpr std::uint64_t kFoldSeed = 1;
// Less than this of a variance is no divisor.
constexpr double kLeast = 1e-6;

// Miss is the error of a run that was held out, as a logarithm, and why it could be large.
struct Miss {
  double error;
  Doubt doubt;
  std::string family;
};

void add_misses(const TimeModel& model, const RunSet& set, const Rows& rows, std::vector<Miss>& all) {
  for (const std::size_t r : rows) {
    const RunSet::Row& row = set.rows[r];
    const DeviceModel on = model.find(row.run.device, set.devices);
    const Prediction made =
        predict(model, set.work(row), on, row.run.steps(), row.run.with_start, Campaign::same);
    all.push_back({std::log(row.run.seconds / made.seconds),
                   doubt_of(model, set.work(row), on, row.run.steps(), row.run.with_start, Campaign::same),
                   family_of(row.run.network)});
  }
}

// Keeps the constants, and fits residuals that have not seen some of the runs.
std::vector<Miss> misses_of_folds(const TimeModel& model, const RunSet& set, const Rows& rows,
                                  const std::vector<Residual::Sample>& earlier) {
  const std::vector<int> fold = stats::assign_folds(rows.size(), kFolds, kFoldSeed);
  std::vector<Miss> all;
  for (int held = 0; held < kFolds; ++held) {
    Rows kept, out;
    for (std::size_t i = 0; i < rows.size(); ++i) (fold[i] == held ? out : kept).push_back(rows[i]);
    if (kept.empty()) continue;
    TimeModel without = model;
    without.calibration = {};
    std::vector<Residual::Sample> samples = missed_by(without, set, kept);
    samples.insert(samples.end(), earlier.begin(), earlier.end());
    without.residual = Residual(std::move(samples));
    add_misses(without, set, out, all);
  }
  return all;
}

// Holds each group of rows, that have the same name, out of everything. Returns false when it was stopped.
template <typename NameOf>
bool hold_out_each(const RunSet& set, const Rows& rows, const NameOf& name_of,
                   const std::function<bool()>& stop, std::vector<Miss>& all) {
  std::map<std::string, Rows> groups;
  for (const std::size_t r : rows) groups[name_of(set.rows[r])].push_back(r);
  if (groups.size() < 2) return true;
  for (const auto& [name, held] : groups) {
    if (stop != nullptr && stop()) return false;
    Rows kept;
    for (const std::size_t r : rows)
      if (name_of(set.rows[r]) != name) kept.push_back(r);
    add_misses(fit_model(set, kept, {.calibrate = false, .settle = true, .learn_use = false}), set, held,
               all);
  }
  return true;
}

// Returns what a part of the half has to be multiplied by, given the other part: so much of the squared error
// is left for the squared `part`.
double part_of(const Miss& miss, double other, double part) {
  return std::sqrt(std::max(miss.error * miss.error - other * other, 0.0) / std::max(part, kLeast));
}

double known_half(const std::vector<Miss>& misses, const Calibration& fresh) {
  std::vector<double> scores;
  for (const Miss& miss : misses) {
    const double other = half_interval(fresh, miss.doubt);
    scores.push_back(part_of(miss, other, miss.doubt.known * miss.doubt.widening * miss.doubt.widening));
  }
  return conformal_quantile(std::move(scores));
}

// Families that are unlike all others are few, and the next one is as likely as any of them to be the worst:
// of fewer than ten the largest quantile counts. Without data the factor is that of a normal distribution.
Calibration fresh_factors(const std::vector<Miss>& misses, double known) {
  std::vector<double> like;
  std::map<std::string, std::vector<double>> unlike;  // by family
  for (const Miss& miss : misses) {
    const double other = half_interval({known, 0, 0}, miss.doubt);
    const double score = part_of(miss, other, (1 - miss.doubt.known) * miss.doubt.open);
    (miss.doubt.is_unlike() ? unlike[miss.family] : like).push_back(score);
  }
  const double fresh = like.empty() ? kNormalHalf : conformal_quantile(std::move(like));
  std::vector<double> worst;
  for (auto& [family, scores] : unlike) worst.push_back(conformal_quantile(std::move(scores)));
  return {0, fresh, worst.empty() ? fresh : conformal_quantile(std::move(worst))};
}

}  // namespace

double conformal_quantile(std::vector<double> scores) {
  if (scores.empty()) return 0;
  std::sort(scores.begin(), scores.end());
  const auto rank = static_cast<std::size_t>(std::ceil(static_cast<double>(scores.size() + 1) * kCoverage));
  return scores[std::min(rank, scores.size()) - 1];
}

void calibrate(const RunSet& set, const Rows& rows, const std::vector<Residual::Sample>& earlier,
               const FitOptions& options, TimeModel& model) {
  model.calibration = {};
  const std::vector<Miss> like_seen = misses_of_folds(model, set, rows, earlier);
  Calibration calibration{0, kNormalHalf, kNormalHalf};
  if (options.base != nullptr && options.base->calibration.is_there())
    calibration = options.base->calibration;
  if (options.base == nullptr) {
    std::vector<Miss> never_seen;
    const auto network = [](const RunSet::Row& row) { return row.run.network; };
    const auto family = [](const RunSet::Row& row) { return family_of(row.run.network); };
    if (!hold_out_each(set, rows, network, options.stop, never_seen) ||
        !hold_out_each(set, rows, family, options.stop, never_seen))
      return;
    calibration = fresh_factors(never_seen, known_half(like_seen, {}));
  }
  calibration.known = 0;
  calibration.known = known_half(like_seen, calibration);
  model.calibration = calibration;
}

}  // namespace trainyard::predict
