#include "ops/cast.h"

namespace trainyard::ops {
namespace {

using graph::Case;
using graph::Cost;
using graph::GradientContext;
using graph::Graph;
using graph::Initializer;
using graph::NodeView;
using graph::TensorType;
using graph::ValueId;

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

std::vector<TensorType> infer(const NodeView& node) {
  const DType to = node.attrs<CastAttrs>().to;
  std::vector<TensorType> types;
  for (int i = 0; i < node.inputs(); ++i) {
    const DType from = node.input(i).type.dtype;
    if (from != to && (!is_float(from) || !is_float(to)))
      node.refuse("input {} '{}' is {}, which does not become {}", i, node.input(i).name,
                  node.input(i).type.to_string(), trainyard::name(to));
    types.push_back({node.input_shape(i), to});
  }
  return types;
}

Cost cost(const NodeView& node) { return {.bytes_moved = bytes_touched(node)}; }

std::string describe(const NodeView& node) {
  return fmt::format("to {}", trainyard::name(node.attrs<CastAttrs>().to));
}

// In f64 a cast is a copy: what it rounds is not seen by a numeric gradient.
std::vector<Case> cases() {
  return {{"round_trip", [](Graph& graph, DType dtype) {
             const ValueId image = graph.add_input("image", {{2, 5, 3, 4}, dtype}, Initializer::normal(1));
             const ValueId weight = graph.add_input("weight", {{7, 33}, dtype}, Initializer::normal(1));
             const DType rounded = dtype == DType::f32 ? DType::bf16 : dtype;
             const auto low = cast(graph, "low", {image, weight}, rounded);
             for (const ValueId back : cast(graph, "back", low, dtype)) graph.mark_output(back);
           }}};
}

}  // namespace

const graph::OpDef cast_op{.name = "cast",
                           .infer = infer,
                           .cost = cost,
                           .cases = cases,
                           .describe = describe,
                           .lowering = graph::Lowering::mixed,
                           .category = graph::Category::copy};

std::vector<ValueId> cast(Graph& graph, const std::string& name, std::vector<ValueId> sources, DType to) {
  return graph.add_node(cast_op, name, std::move(sources), CastAttrs{to});
}

}  // namespace trainyard::ops
