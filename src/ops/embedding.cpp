#include "ops/embedding.h"

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

void want_ids(const NodeView& node, int input) {
  if (node.input(input).type.dtype != DType::i32)
    node.refuse("ids are {}, wants i32", node.input(input).type.to_string());
}

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(2, 2);
  node.want_rank(0, 2);
  want_ids(node, 1);
  Shape shape = node.input_shape(1);
  if (shape.rank() == Shape::kMaxRank) node.refuse("ids have {} dimensions already", shape.rank());
  shape.append(node.input_shape(0)[1]);
  return {{shape, node.dtype()}};
}

// Only the rows that are named are read.
Cost cost(const NodeView& node) {
  return {.bytes_moved = node.input(1).type.bytes() + 2 * node.output(0).type.bytes()};
}

void gradient(GradientContext& context) {
  if (!context.needs(0)) return;
  Graph& graph = context.graph();
  context.set(
      0, graph.add(embedding_d_table_op, context.name("/d_table"), {context.d_output(0), context.input(1)},
                   EmbeddingGradAttrs{graph.shape(context.input(0))[0]}));
}

std::vector<TensorType> infer_d_table(const NodeView& node) {
  node.want_inputs(2, 2);
  want_ids(node, 1);
  const Shape &d_dst = node.input_shape(0), &ids = node.input_shape(1);
  if (d_dst.rank() != ids.rank() + 1)
    node.refuse("gradient is {}, ids are {}: wants one dimension more", d_dst.to_string(), ids.to_string());
  return {{{node.attrs<EmbeddingGradAttrs>().vocabulary, d_dst[ids.rank()]}, node.dtype()}};
}

Cost cost_d_table(const NodeView& node) {
  return {.elementwise_flops = node.input_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

std::vector<Case> cases() {
  const auto problem = [](Shape ids_shape, std::int64_t vocabulary, std::int64_t width) {
    return [=](Graph& graph, DType dtype) {
      const ValueId ids = graph.add_input("ids", {ids_shape, DType::i32},
                                          Initializer::integers(0, static_cast<double>(vocabulary)));
      const ValueId table =
          graph.add_parameter("table", {{vocabulary, width}, dtype}, Initializer::normal(1));
      graph.mark_output(embedding(graph, "y", table, ids));
    };
  };
  return {{"sequence", problem({7, 4}, 11, 16)},
          {"one_id", problem({1}, 3, 5)},
          {"every_id_often", problem({40, 6}, 2, 33)},
          {"odd_width", problem({5, 3}, 9, 7)},
          {"more_rows_than_ids", problem({3, 2}, 257, 8)}};
}

}  // namespace

const graph::OpDef embedding_op{.name = "embedding",
                                .infer = infer,
                                .cost = cost,
                                .gradient = gradient,
                                .cases = cases,
                                .lowering = graph::Lowering::computes,
                                .category = graph::Category::copy};
const graph::OpDef embedding_d_table_op{.name = "embedding_d_table",
                                        .infer = infer_d_table,
                                        .cost = cost_d_table,
                                        .lowering = graph::Lowering::computes,
                                        .category = graph::Category::copy};

ValueId embedding(Graph& graph, const std::string& name, ValueId table, ValueId ids) {
  return graph.add(embedding_op, name, {table, ids});
}

}  // namespace trainyard::ops
