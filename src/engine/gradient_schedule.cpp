#include "engine/gradient_schedule.h"

namespace trainyard::engine {
namespace {

// Returns the last step that writes each buffer, without the update; -1 where there is none.
std::vector<int> last_writers(const plan::CompiledStep& compiled) {
  std::vector<int> writers(compiled.plan.buffers.size(), -1);
  for (std::size_t s = 0; s < compiled.plan.steps.size(); ++s) {
    const plan::Step& step = compiled.plan.steps[s];
    if (step.is_update()) continue;
    const auto writes = [&](int id) { writers[static_cast<std::size_t>(id)] = static_cast<int>(s); };
    std::for_each(step.outputs.begin(), step.outputs.end(), writes);
    if (!step.is_reorder())
      for (const int i : graph::mutated_inputs({*compiled.graph, compiled.graph->node(step.node)}))
        writes(step.inputs[static_cast<std::size_t>(i)]);
  }
  return writers;
}

}  // namespace

GradientSchedule::GradientSchedule(const plan::CompiledStep& step) : after_(step.plan.steps.size()) {
  const plan::StepPlan& plan = step.plan;
  const std::vector<int> writers = last_writers(step);
  std::vector<std::size_t> gradients;
  std::size_t parameters = 0;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].region == plan::Region::gradients) gradients.push_back(b);
    if (plan.buffers[b].region == plan::Region::parameters) ++parameters;
  }
  complete_ = gradients.size() == parameters;
  std::sort(gradients.begin(), gradients.end(),
            [&](std::size_t a, std::size_t b) { return plan.buffers[a].offset < plan.buffers[b].offset; });
  for (const std::size_t b : gradients) {
    TRAINYARD_CHECK(writers[b] >= 0);
    std::vector<Stretch>& stretches = after_[static_cast<std::size_t>(writers[b])];
    const auto floats = [](std::size_t bytes) { return static_cast<std::int64_t>(bytes / sizeof(float)); };
    const Stretch own{floats(plan.buffers[b].offset), floats(plan.buffers[b].bytes)};
    if (!stretches.empty() && stretches.back().end() == own.first)
      stretches.back().elements += own.elements;
    else
      stretches.push_back(own);
  }
}

}  // namespace trainyard::engine
