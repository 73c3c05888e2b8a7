#include "engine/op_breakdown.h"

#include "base/clock.h"

namespace trainyard::engine {
namespace {

void add(std::vector<OpShare>& shares, const std::string& name, const plan::Step& step, double seconds) {
  auto found = std::find_if(shares.begin(), shares.end(), [&](const OpShare& s) { return s.name == name; });
  if (found == shares.end()) found = shares.insert(shares.end(), {.name = name, .category = step.category});
  found->seconds += seconds;
  found->cost += step.cost;
  if (step.recomputed) found->recomputed += step.cost;
  ++found->count;
}

void sort(std::vector<OpShare>& shares) {
  std::stable_sort(shares.begin(), shares.end(),
                   [](const OpShare& a, const OpShare& b) { return a.seconds > b.seconds; });
}

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace

OpBreakdown break_down(const plan::StepPlan& plan, std::span<const double> kernel_seconds) {
  TRAINYARD_CHECK(kernel_seconds.size() == plan.steps.size());
  OpBreakdown found;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::Step& step = plan.steps[s];
    if (step.phase == graph::Phase::prepare) continue;
    add(found.by_category, graph::name(step.category), step, kernel_seconds[s]);
    add(found.by_op, step.op, step, kernel_seconds[s]);
    const std::size_t workspace =
        step.workspace < 0 ? 0 : plan.buffers[static_cast<std::size_t>(step.workspace)].bytes;
    found.kernels.push_back(
        {step.name, step.op, step.kernel, kernel_seconds[s], static_cast<std::int64_t>(workspace)});
    found.seconds += kernel_seconds[s];
  }
  sort(found.by_category);
  sort(found.by_op);
  return found;
}

OpBreakdown measure_ops(Executor& executor, const backend::StepContext& first) {
  // Another device repeats and takes the median by itself.
  constexpr std::int64_t kLeast = 5, kMost = 50;
  constexpr double kSeconds = 0.5;
  const std::int64_t most = executor.on_host() ? kMost : 1;
  const double began = now_seconds();
  std::vector<std::vector<double>> rounds;  // of each kernel
  for (std::int64_t round = 0; round < most; ++round) {
    if (round >= kLeast && now_seconds() - began > kSeconds) break;
    std::vector<double> seconds;
    executor.run_timed({first.seed, first.step + round}, seconds);
    rounds.resize(seconds.size());
    for (std::size_t s = 0; s < seconds.size(); ++s) rounds[s].push_back(seconds[s]);
  }
  std::vector<double> medians;
  for (std::vector<double>& each : rounds) medians.push_back(median(std::move(each)));
  OpBreakdown found = break_down(executor.plan(), medians);
  found.rounds = rounds.empty() ? 0 : static_cast<std::int64_t>(rounds.front().size());
  return found;
}

}  // namespace trainyard::engine
