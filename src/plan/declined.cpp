#include <optional>
#include <string_view>

#include "plan/passes.h"

namespace trainyard::plan {

std::string declined(const graph::Graph& graph, const graph::Node& node, const backend::Backend& backend) {
  const std::shared_ptr<backend::Device> device = backend.device();
  const backend::KernelRequest request{{graph, node},
                                       device.get(),
                                       std::vector<std::optional<Layout>>(node.inputs.size()),
                                       std::vector<std::optional<Layout>>(node.outputs.size())};
  std::string reason = "the backend has no kernel for it";
  for (const backend::Candidate& candidate : backend.candidates()) {
    const std::string_view name = candidate.name;
    if (candidate.op != node.op || name.starts_with("reference:") || name.ends_with("_plain")) continue;
    const backend::Decision decision = candidate.accept(request);
    if (decision.accepted()) return "";
    reason = decision.reason;
  }
  return reason;
}

}  // namespace trainyard::plan
