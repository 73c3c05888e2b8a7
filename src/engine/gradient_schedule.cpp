#include "engine/gradient_schedule.h"

#include "ops/dense.h"
#include "ops/update.h"

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

// Counts the parameters that are trained; an update that is joined with a gradient has a weight and its bias.
std::size_t updated_parameters(const plan::CompiledStep& compiled) {
  int count = 0;
  for (const plan::Step& step : compiled.plan.steps) {
    if (!step.is_update()) continue;
    const graph::NodeView node(*compiled.graph, compiled.graph->node(step.node));
    if (node.node().op == &ops::update_op) count += ops::updated_parameters(node);
    if (node.node().op == &ops::dense_update_op) count += 2;
  }
  return static_cast<std::size_t>(count);
}

}  // namespace

GradientSchedule::GradientSchedule(const plan::CompiledStep& step) : after_(step.plan.steps.size()) {
  const plan::StepPlan& plan = step.plan;
  const std::vector<int> writers = last_writers(step);
  std::vector<std::size_t> gradients;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b)
    if (plan.buffers[b].region == plan::Region::gradients) gradients.push_back(b);
  complete_ = gradients.size() == updated_parameters(step);
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
