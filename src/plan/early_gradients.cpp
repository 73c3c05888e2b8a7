#include "graph/op_def.h"
#include "ops/elementwise.h"
#include "plan/passes.h"

namespace trainyard::plan {
namespace {

// Marks the steps that write a stored gradient, and the steps that produce the input of such a sum or
// reorder.
std::vector<bool> finishing_steps(const CompiledStep& compiled) {
  const StepPlan& plan = compiled.plan;
  std::set<int> changed, wanted;  // buffers
  for (const Step& step : plan.steps)
    if (!step.is_reorder() && !step.is_update())
      for (const int i : graph::mutated_inputs({*compiled.graph, compiled.graph->node(step.node)}))
        changed.insert(step.inputs[static_cast<std::size_t>(i)]);
  std::vector<bool> finishing(plan.steps.size(), false);
  for (std::size_t s = plan.steps.size(); s-- > 0;) {
    const Step& step = plan.steps[s];
    const bool writes = std::any_of(step.outputs.begin(), step.outputs.end(), [&](int id) {
      return plan.buffers[static_cast<std::size_t>(id)].region == Region::gradients || wanted.contains(id);
    });
    // A step may run earlier only if its inputs have the same content then.
    finishing[s] = writes && std::none_of(step.inputs.begin(), step.inputs.end(),
                                          [&](int id) { return changed.contains(id); });
    if (finishing[s] && (step.is_reorder() || step.op == ops::add_op.name))
      wanted.insert(step.inputs.begin(), step.inputs.end());
  }
  return finishing;
}

// Each finishing step follows the last step that makes one of its inputs.
std::vector<std::size_t> early_order(const StepPlan& plan, const std::vector<bool>& finishing) {
  std::vector<bool> made(plan.buffers.size(), true);
  for (const Step& step : plan.steps)
    for (const int id : step.outputs) made[static_cast<std::size_t>(id)] = false;
  std::vector<std::size_t> order, waiting;
  const auto append = [&](std::size_t s) {
    order.push_back(s);
    for (const int id : plan.steps[s].outputs) made[static_cast<std::size_t>(id)] = true;
  };
  const auto is_ready = [&](std::size_t s) {
    const std::vector<int>& inputs = plan.steps[s].inputs;
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](int id) { return made[static_cast<std::size_t>(id)]; });
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    if (finishing[s]) waiting.push_back(s);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (finishing[s]) continue;
    append(s);
    const auto next_ready = [&] { return std::find_if(waiting.begin(), waiting.end(), is_ready); };
    for (auto next = next_ready(); next != waiting.end(); next = next_ready()) {
      append(*next);
      waiting.erase(next);
    }
  }
  TRAINYARD_CHECK(order.size() == plan.steps.size());
  return order;
}

}  // namespace

void finish_gradients_early(CompiledStep& compiled) {
  const std::vector<std::size_t> order = early_order(compiled.plan, finishing_steps(compiled));
  std::vector<Step> steps;
  std::vector<std::unique_ptr<backend::Kernel>> kernels;
  for (const std::size_t s : order) {
    steps.push_back(std::move(compiled.plan.steps[s]));
    kernels.push_back(std::move(compiled.kernels[s]));
  }
  compiled.plan.steps = std::move(steps);
  compiled.kernels = std::move(kernels);
}

}  // namespace trainyard::plan
