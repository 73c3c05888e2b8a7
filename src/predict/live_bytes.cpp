#include "predict/live_bytes.h"

#include <algorithm>
#include <vector>

#include "graph/op_def.h"

namespace trainyard::predict {
namespace {

using graph::Graph;
using graph::Node;
using graph::Role;
using graph::Value;
using graph::ValueId;

constexpr int kNever = -1;

bool is_gradient_of_parameter(const Graph& graph, const Value& value) {
  return value.gradient_of != graph::kNone && graph.value(value.gradient_of).role == Role::parameter;
}

std::vector<int> last_readers(const Graph& graph) {
  std::vector<int> last(graph.values().size(), kNever);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    for (const ValueId id : graph.nodes()[n].inputs) last[static_cast<std::size_t>(id)] = static_cast<int>(n);
  for (const ValueId id : graph.outputs())
    last[static_cast<std::size_t>(id)] = static_cast<int>(graph.nodes().size());
  return last;
}

// A value's bytes live on in those of the input that its node may write over.
bool overwrites(const Graph& graph, const Node& node, const std::vector<int>& last, int position) {
  if (node.op->category != graph::Category::elementwise || node.outputs.size() != 1) return false;
  const std::int64_t bytes = graph.value(node.outputs[0]).type.bytes();
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    const Value& input = graph.value(id);
    return input.role == Role::intermediate && input.type.bytes() == bytes &&
           last[static_cast<std::size_t>(id)] == position;
  });
}

}  // namespace

LiveBytes live_bytes(const Graph& graph) {
  const std::vector<int> last = last_readers(graph);
  LiveBytes result;
  std::int64_t live = 0;
  bool backward = false;
  const auto counts = [&](ValueId id) {
    const Value& value = graph.value(id);
    return value.role == Role::intermediate && !is_gradient_of_parameter(graph, value);
  };
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const int position = static_cast<int>(n);
    if (node.phase == graph::Phase::backward && !backward) {
      backward = true;
      result.saved = live;
    }
    // Outputs exist before the inputs are freed, but for the one that is written over.
    std::int64_t made = 0, freed = 0;
    for (const ValueId id : node.outputs) {
      const std::int64_t bytes = graph.value(id).type.bytes();
      if (is_gradient_of_parameter(graph, graph.value(id))) result.gradients += bytes;
      if (counts(id)) made += bytes;
      if (counts(id) && last[static_cast<std::size_t>(id)] == kNever) freed += bytes;
    }
    std::vector<ValueId> inputs = node.inputs;
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    for (const ValueId id : inputs)
      if (counts(id) && last[static_cast<std::size_t>(id)] == position) freed += graph.value(id).type.bytes();
    const std::int64_t over = overwrites(graph, node, last, position) ? made : 0;
    result.peak = std::max(result.peak, live + made - over);
    live += made - freed;
  }
  return result;
}

}  // namespace trainyard::predict
