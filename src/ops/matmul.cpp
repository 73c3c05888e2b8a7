#include "ops/matmul.h"

#include "base/text.h"

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

std::vector<TensorType> infer_matmul(const NodeView& node) {
  node.want_inputs(2, 2);
  const auto& attrs = node.attrs<MatmulAttrs>();
  const Shape &a = node.input_shape(0), &b = node.input_shape(1);
  const int rank = a.rank();
  if (rank < 2 || b.rank() != rank || !std::equal(a.begin(), a.end() - 2, b.begin()))
    node.refuse("inputs are {} and {}: all dimensions but the last two must agree", a.to_string(),
                b.to_string());
  const std::int64_t rows = a[attrs.transpose_a ? rank - 1 : rank - 2],
                     depth = a[attrs.transpose_a ? rank - 2 : rank - 1],
                     depth_of_b = b[attrs.transpose_b ? rank - 1 : rank - 2],
                     columns = b[attrs.transpose_b ? rank - 2 : rank - 1];
  if (depth != depth_of_b)
    node.refuse("inputs are {} and {}: sums over {} and {} terms", a.to_string(), b.to_string(), depth,
                depth_of_b);
  Shape dst = a;
  dst[rank - 2] = rows;
  dst[rank - 1] = columns;
  return {{dst, node.dtype()}};
}

Cost cost_matmul(const NodeView& node) {
  const Shape& a = node.input_shape(0);
  const std::int64_t depth = a[node.attrs<MatmulAttrs>().transpose_a ? a.rank() - 2 : a.rank() - 1];
  return {.flops = 2 * depth * node.output_shape(0).elements(), .bytes_moved = bytes_touched(node)};
}

// With C = A B: dA = dC B^T, dB = A^T dC; of a transposed input the gradient is transposed, too.
void gradient_matmul(GradientContext& context) {
  Graph& graph = context.graph();
  const auto& attrs = context.node().attrs<MatmulAttrs>();
  const ValueId d_dst = context.d_output(0), a = context.input(0), b = context.input(1);
  if (context.needs(0))
    context.set(0, attrs.transpose_a
                       ? matmul(graph, context.name("/d_a"), b, d_dst, {attrs.transpose_b, true})
                       : matmul(graph, context.name("/d_a"), d_dst, b, {false, !attrs.transpose_b}));
  if (context.needs(1))
    context.set(1, attrs.transpose_b
                       ? matmul(graph, context.name("/d_b"), d_dst, a, {true, attrs.transpose_a})
                       : matmul(graph, context.name("/d_b"), a, d_dst, {!attrs.transpose_a, false}));
}

std::string describe_matmul(const NodeView& node) {
  const auto& attrs = node.attrs<MatmulAttrs>();
  return fmt::format("a{} b{}", attrs.transpose_a ? "^T" : "", attrs.transpose_b ? "^T" : "");
}

std::vector<Case> cases_matmul() {
  const auto problem = [](Shape a_shape, Shape b_shape, MatmulAttrs attrs) {
    return [=](Graph& graph, DType dtype) {
      const ValueId a = graph.add_input("a", {a_shape, dtype}, Initializer::normal(1));
      const ValueId b = graph.add_input("b", {b_shape, dtype}, Initializer::normal(1));
      graph.mark_output(matmul(graph, "y", a, b, attrs));
    };
  };
  return {{"matrices", problem({5, 7}, {7, 9}, {})},
          {"batch", problem({3, 8, 16}, {3, 16, 24}, {})},
          {"transposed_b", problem({2, 3, 6, 10}, {2, 3, 5, 10}, {false, true})},
          {"transposed_a", problem({4, 12, 6}, {4, 12, 5}, {true, false})},
          {"both_transposed", problem({2, 9, 4}, {2, 3, 9}, {true, true})},
          {"one_by_one", problem({3, 1, 1}, {3, 1, 1}, {})}};
}

}  // namespace

const graph::OpDef matmul_op{.name = "matmul",
                             .infer = infer_matmul,
                             .cost = cost_matmul,
                             .gradient = gradient_matmul,
                             .cases = cases_matmul,
                             .describe = describe_matmul,
                             .lowering = graph::Lowering::computes,
                             .category = graph::Category::gemm};

ValueId matmul(Graph& graph, const std::string& name, ValueId a, ValueId b, const MatmulAttrs& attrs) {
  return graph.add(matmul_op, name, {a, b}, attrs);
}

namespace {

std::vector<TensorType> infer_permute(const NodeView& node) {
  node.want_inputs(1, 1);
  const std::vector<int>& order = node.attrs<PermuteAttrs>().order;
  const Shape& src = node.input_shape(0);
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool all = static_cast<int>(order.size()) == src.rank();
  for (std::size_t i = 0; all && i < sorted.size(); ++i) all = sorted[i] == static_cast<int>(i);
  if (!all) node.refuse("order {} does not name each axis of {} once", joined(order, ","), src.to_string());
  Shape dst;
  for (const int axis : order) dst.append(src[axis]);
  return {{dst, node.dtype()}};
}

Cost cost_permute(const NodeView& node) { return elementwise_cost(node, 0); }

void gradient_permute(GradientContext& context) {
  const std::vector<int>& order = context.node().attrs<PermuteAttrs>().order;
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  context.set(0, permute(context.graph(), context.name("/d_src"), context.d_output(0), std::move(back)));
}

std::string describe_permute(const NodeView& node) { return joined(node.attrs<PermuteAttrs>().order, ","); }

std::vector<Case> cases_permute() {
  const auto problem = [](Shape shape, std::vector<int> order) {
    return [=](Graph& graph, DType dtype) {
      const ValueId src = graph.add_input("src", {shape, dtype}, Initializer::normal(1));
      graph.mark_output(permute(graph, "y", src, order));
    };
  };
  return {{"transpose", problem({5, 9}, {1, 0})},
          {"heads", problem({3, 7, 2, 16}, {0, 2, 1, 3})},
          {"channels_last", problem({2, 16, 3, 4}, {0, 2, 3, 1})},
          {"turned", problem({3, 4, 5}, {2, 0, 1})},
          {"as_it_is", problem({4, 6}, {0, 1})}};
}

}  // namespace

const graph::OpDef permute_op{.name = "permute",
                              .infer = infer_permute,
                              .cost = cost_permute,
                              .gradient = gradient_permute,
                              .cases = cases_permute,
                              .describe = describe_permute,
                              .category = graph::Category::copy};

ValueId permute(Graph& graph, const std::string& name, ValueId src, std::vector<int> order) {
  return graph.add(permute_op, name, {src}, PermuteAttrs{std::move(order)});
}

std::vector<const graph::OpDef*> matmul_ops() { return {&matmul_op, &permute_op}; }

}  // namespace trainyard::ops
