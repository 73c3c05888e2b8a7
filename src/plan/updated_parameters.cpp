#include "plan/updated_parameters.h"

#include "ops/update.h"

namespace trainyard::plan {

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
