#pragma once

#include "graph/op_def.h"

// Small ops for tests of this folder, which knows no real ones.
namespace trainyard::graph {

inline const TensorType kToyType{{2, 3}, DType::f32};

inline Cost toy_cost(const NodeView& node) { return elementwise_cost(node, 1); }

inline std::vector<TensorType> same_as_first(const NodeView& node) { return {node.input(0).type}; }

// (src) -> 2 * src
inline const OpDef twice_op{
    .name = "twice",
    .infer =
        [](const NodeView& node) {
          node.want_inputs(1, 1);
          return same_as_first(node);
        },
    .cost = toy_cost,
    .gradient =
        [](GradientContext& context) {
          context.set(0,
                      context.graph().add(*context.node().op, context.name("/grad"), {context.d_output(0)}));
        },
};

// (a, b, ...) -> their sum; the gradient of each is that of the sum
inline const OpDef sum_op{
    .name = "sum",
    .infer =
        [](const NodeView& node) {
          node.want_inputs(1, 8);
          for (int i = 1; i < node.inputs(); ++i)
            if (!(node.input(i).type == node.input(0).type))
              node.refuse("input {} is {}, wants {}", i, node.input(i).type.to_string(),
                          node.input(0).type.to_string());
          return same_as_first(node);
        },
    .cost = toy_cost,
    .gradient =
        [](GradientContext& context) {
          for (int i = 0; i < static_cast<int>(context.node().inputs.size()); ++i)
            if (context.needs(i)) context.set(i, context.d_output(0));
        },
};

// (src) -> src, as two outputs; the gradient is that of the first, or of the second where the first has none
inline const OpDef fork_op{
    .name = "fork",
    .infer = [](const NodeView& node) -> std::vector<TensorType> {
      return {node.input(0).type, node.input(0).type};
    },
    .cost = toy_cost,
    .gradient =
        [](GradientContext& context) {
          context.set(0, context.d_output(0) != kNone ? context.d_output(0) : context.d_output(1));
        },
};

// (src) -> src, through which no gradient passes
inline const OpDef stop_op{.name = "stop", .infer = same_as_first, .cost = toy_cost};

// (state) -> nothing; changes the state
inline const OpDef change_op{
    .name = "change",
    .infer = [](const NodeView&) -> std::vector<TensorType> { return {}; },
    .cost = [](const NodeView& node) { return Cost{.bytes_moved = bytes_touched(node)}; },
    .mutates = [](const NodeView&) -> std::vector<int> { return {0}; },
    .describe = [](const NodeView& node) { return node.input(0).name + " anew"; },
};

}  // namespace trainyard::graph
