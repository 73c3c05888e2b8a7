#include "base/text.h"
#include "plan/passes.h"
#include "plan/recompute.h"

namespace trainyard::plan {

namespace {

std::string bytes_text(std::size_t bytes) { return format_bytes(static_cast<std::int64_t>(bytes)); }

}  // namespace

std::size_t counted_bytes(const StepPlan& plan, const CompileOptions& options) {
  return plan.total_bytes() - (options.optimizer_state ? 0 : plan.bytes(Region::optimizer_state));
}

CompiledStep fit_to_limit(const graph::Graph& graph, CompiledStep whole, const CompileOptions& options,
                          const MakePlan& make) {
  const std::size_t limit = options.limit_bytes, unlimited = counted_bytes(whole.plan, options);
  std::size_t smallest = unlimited;
  const auto fits = [&](CompiledStep& step) {
    step.plan.limit_bytes = limit;
    step.plan.unlimited_bytes = unlimited;
    const std::size_t bytes = counted_bytes(step.plan, options);
    smallest = std::min(smallest, bytes);
    return bytes <= limit;
  };
  if (fits(whole)) return whole;
  const std::size_t lasting = unlimited - whole.plan.bytes(Region::slab);
  const StepSketch sketch(whole);
  const auto plan_without = [&](const Dropped& dropped) {
    const Recomputed changed = recompute(graph, dropped);
    return make(changed.graph, changed.again);
  };
  // A placement is somewhat higher than what lives at once, so a plan that misses is made again for less.
  constexpr int kTries = 8;
  std::size_t most = limit > lasting ? limit - lasting : 0;
  for (int i = 0; i < kTries && most > 0; ++i) {
    const std::optional<Dropped> dropped = choose_dropped(sketch, most);
    if (!dropped) break;
    CompiledStep step = plan_without(*dropped);
    if (fits(step)) return step;
    const std::size_t less = std::max(counted_bytes(step.plan, options) - limit, most / 128);
    most = most > less ? most - less : 0;
  }
  CompiledStep step = plan_without(choose_smallest(sketch));
  if (fits(step)) return step;
  fail(ErrorKind::unsupported,
       "{} {}: the smallest plan of a step takes {}, of which {} are parameters, gradients, optimizer state "
       "and the inputs",
       Setting{"memory_limit"}, bytes_text(limit), bytes_text(smallest), bytes_text(lasting));
}

}  // namespace trainyard::plan
