#include "plan/step_plan.h"

#include "ops/update.h"

namespace trainyard::plan {

const char* name(Region region) {
  switch (region) {
    case Region::parameters:
      return "parameters";
    case Region::gradients:
      return "gradients";
    case Region::optimizer_state:
      return "optimizer state";
    case Region::statistics:
      return "statistics";
    case Region::copies:
      return "rounded copies";
    case Region::inputs:
      return "inputs";
    case Region::outputs:
      return "outputs";
    case Region::slab:
      return "slab";
  }
  return "?";
}

std::size_t StepPlan::total_bytes() const {
  return std::accumulate(region_bytes.begin(), region_bytes.end(), std::size_t{0});
}

std::size_t StepPlan::unshared_slab_bytes() const {
  std::size_t sum = 0;
  for (const Buffer& buffer : buffers)
    if (buffer.region == Region::slab) sum += buffer.bytes;
  return sum;
}

int StepPlan::reorders() const {
  int count = 0;
  for (const Step& step : steps) count += step.is_reorder() ? 1 : 0;
  return count;
}

namespace {

graph::Cost sum_of(const std::vector<Step>& steps, bool recomputed) {
  graph::Cost sum;
  for (const Step& step : steps)
    if (!step.is_reorder() && step.recomputed == recomputed) sum += step.cost;
  return sum;
}

}  // namespace

graph::Cost StepPlan::work() const { return sum_of(steps, false); }

graph::Cost StepPlan::recomputed_work() const { return sum_of(steps, true); }

int StepPlan::find_buffer(const std::string& value_name) const {
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].name == value_name && buffers[i].region != Region::slab) return static_cast<int>(i);
  return -1;
}

std::string to_text(const StepPlan& plan) {
  std::string text = fmt::format("backend {}\n", plan.backend);
  for (const std::string& fusion : plan.fusions) text += fmt::format("fusion {}\n", fusion);
  const auto list = [&](const std::vector<int>& ids) {
    std::string names;
    for (const int id : ids) {
      const Buffer& buffer = plan.buffers[static_cast<std::size_t>(id)];
      names += fmt::format("{}{}[{}]", names.empty() ? "" : ", ", buffer.name, buffer.layout.to_string());
    }
    return names;
  };
  for (const Step& step : plan.steps)
    text += fmt::format("{} = {} {{{}}} ({}) -> ({})\n", step.name, step.kernel, step.attributes,
                        list(step.inputs), list(step.outputs));
  for (std::size_t i = 0; i < kRegions; ++i)
    text += fmt::format("{} {} bytes\n", name(static_cast<Region>(i)), plan.region_bytes[i]);
  return text;
}

using graph::Node;

std::vector<UpdatedParameter> parameters_of(const graph::Graph& graph, const Node& update) {
  const auto count = static_cast<std::size_t>(ops::updated_parameters({graph, update}));
  const auto slots = static_cast<std::size_t>(update.attrs<ops::UpdateAttrs>().slots());
  std::size_t copy = (2 + slots) * count;
  std::vector<UpdatedParameter> parameters;
  for (std::size_t p = 0; p < count; ++p) {
    UpdatedParameter parameter{update.inputs[p], update.inputs[count + p], {}};
    for (std::size_t s = 0; s < slots; ++s) parameter.slots.push_back(update.inputs[(2 + s) * count + p]);
    if (copy < update.inputs.size() && graph.shape(parameter.value).rank() >= 2)
      parameter.copy = update.inputs[copy++];
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

void add_parameters(Node& update, const std::vector<UpdatedParameter>& parameters) {
  const std::size_t slots = parameters.front().slots.size();
  for (const UpdatedParameter& parameter : parameters) update.inputs.push_back(parameter.value);
  if (update.op == &ops::update_op)
    for (const UpdatedParameter& parameter : parameters) update.inputs.push_back(parameter.gradient);
  for (std::size_t s = 0; s < slots; ++s)
    for (const UpdatedParameter& parameter : parameters) update.inputs.push_back(parameter.slots[s]);
  int& copies = std::any_cast<ops::UpdateAttrs&>(update.attributes).rounded_copies = 0;
  for (const UpdatedParameter& parameter : parameters) {
    if (parameter.copy == graph::kNone) continue;
    update.inputs.push_back(parameter.copy);
    ++copies;
  }
}

}  // namespace trainyard::plan
