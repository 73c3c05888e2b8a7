#include "predict/gnn/run_labels.h"

#include <charconv>

namespace trainyard::predict {

namespace {

constexpr double kShareWeight = 0.05;  // of logits
constexpr double kLeastOfRun = 0.1;    // steps take at least this much of a run, whatever its start

}  // namespace

std::vector<JobDescription> jobs_of(const RunSet& set, const std::vector<std::size_t>& rows) {
  std::vector<JobDescription> jobs;
  for (const std::size_t r : rows) jobs.push_back(describe(set.rows[r].run, set.devices[set.rows[r].device]));
  return jobs;
}

double start_seconds_of(const RunSet& set, const std::vector<std::size_t>& rows) {
  std::map<std::size_t, std::vector<const TableRun*>> by_work;
  for (const std::size_t r : rows)
    if (set.rows[r].run.with_start) by_work[set.rows[r].work].push_back(&set.rows[r].run);
  struct Pair {
    double seconds, start;
  };
  std::vector<Pair> pairs;
  for (auto& [work, runs] : by_work) {
    const auto [shortest, longest] =
        std::minmax_element(runs.begin(), runs.end(),
                            [](const TableRun* a, const TableRun* b) { return a->steps() < b->steps(); });
    const TableRun &a = **shortest, &b = **longest;
    if (b.steps() < 1.5 * a.steps()) continue;
    pairs.push_back({a.seconds, a.seconds - a.steps() * (b.seconds - a.seconds) / (b.steps() - a.steps())});
  }
  if (pairs.empty()) return 0;
  // The error of a long run is longer than any start, so only the shortest quarter counts.
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.seconds < b.seconds; });
  std::vector<double> starts;
  for (std::size_t i = 0; i < (pairs.size() + 3) / 4; ++i) starts.push_back(pairs[i].start);
  return std::max(0.0, stats::median(starts));
}

float label_of_share(double share) {
  return static_cast<float>(std::exp(kShareWeight * logit_of_share(share)));
}

double share_of_label(float label) {
  return share_of_logit(std::log(std::max(label, 1e-30f)) / kShareWeight);
}

double start_seconds_on(const GraphRunModel& model, const DeviceSheet& device) {
  double sum = 0;
  for (const GraphRunModel::SeenDevice& one : model.devices) {
    if (same_device_name(one.device.name, device.name)) return one.start_seconds;
    sum += one.start_seconds;
  }
  return model.devices.empty() ? 0 : sum / static_cast<double>(model.devices.size());
}

std::vector<GraphSample> labelled_graphs(const RunSet& set, const std::vector<std::size_t>& rows,
                                         const GraphRunModel& model, JobGraphs& graphs) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> alike;
  for (const std::size_t r : rows) alike[{set.rows[r].work, set.rows[r].device}].push_back(r);
  const std::vector<UseModel::Output>& shares = model.use.outputs();
  std::vector<GraphSample> samples;
  for (const auto& [key, members] : alike) {
    double logarithms = 0;
    std::vector<double> sums(shares.size()), counts(shares.size());
    for (const std::size_t r : members) {
      const TableRun& run = set.rows[r].run;
      const double start = run.with_start ? start_seconds_on(model, set.devices[key.second]) : 0;
      logarithms += std::log(std::max(run.seconds - start, kLeastOfRun * run.seconds) / run.steps());
      std::vector<ResourceUse> use = run.use;
      for (ResourceUse& one : use) one.resource = resource_key(one.resource);
      for (std::size_t o = 0; o < shares.size(); ++o) {
        const double share = share_in(use, shares[o].resource, shares[o].peak);
        if (!std::isfinite(share)) continue;
        sums[o] += share;
        counts[o] += 1;
      }
    }
    GraphSample sample = graphs.sample(jobs_of(set, {members.front()}).front());
    sample.labels = {static_cast<float>(std::exp(logarithms / static_cast<double>(members.size())))};
    sample.known = {1};
    for (std::size_t o = 0; o < shares.size(); ++o) {
      sample.labels.push_back(counts[o] > 0 ? label_of_share(sums[o] / counts[o]) : 1);
      sample.known.push_back(counts[o] > 0 ? 1 : 0);
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace trainyard::predict
