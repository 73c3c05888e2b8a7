#include "ops/resize.h"

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

std::vector<TensorType> infer(const NodeView& node) {
  node.want_inputs(1, 1);
  node.want_rank(0, 4);
  const Shape &src = node.input_shape(0), &made = node.attrs<ResizeAttrs>().shape;
  if (made.rank() != 4 || made[0] != src[0] || made[1] != src[1] || made[2] < 1 || made[3] < 1)
    node.refuse("input {} cannot become {}", src.to_string(), made.to_string());
  return {{made, node.dtype()}};
}

// Three sums of two, each of a product and what is left of it.
constexpr std::int64_t kOperations = 9;

Cost cost(const NodeView& node) { return elementwise_cost(node, kOperations); }

Cost cost_d_src(const NodeView& node) {
  return {.elementwise_flops = kOperations * node.input_shape(0).elements(),
          .bytes_moved = bytes_touched(node)};
}

void gradient(GradientContext& context) {
  context.set(0, context.graph().add(resize_d_src_op, context.name("/d_src"), {context.d_output(0)},
                                     ResizeAttrs{context.node().attrs<ResizeAttrs>().places,
                                                 context.graph().shape(context.input(0))}));
}

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<ResizeAttrs>();
  const char* places = attrs.places == ResizePlaces::half_pixel      ? "half pixel"
                       : attrs.places == ResizePlaces::align_corners ? "align corners"
                                                                     : "asymmetric";
  return fmt::format("to {}, {}", attrs.shape.to_string(), places);
}

std::vector<Case> cases() {
  struct Problem {
    const char* name;
    Shape src;
    std::int64_t height, width;
    ResizePlaces places = ResizePlaces::half_pixel;
  };
  const Problem problems[] = {{"doubled", {2, 16, 4, 5}, 8, 10},
                              {"doubled_corners", {2, 5, 4, 3}, 8, 6, ResizePlaces::align_corners},
                              {"doubled_asymmetric", {1, 7, 3, 4}, 6, 8, ResizePlaces::asymmetric},
                              {"uneven", {1, 3, 5, 7}, 13, 9},
                              {"uneven_corners", {1, 24, 5, 7}, 13, 9, ResizePlaces::align_corners},
                              {"smaller", {2, 4, 9, 8}, 4, 3},
                              {"smaller_corners", {2, 4, 9, 8}, 4, 3, ResizePlaces::align_corners},
                              {"one_pixel", {2, 8, 1, 1}, 4, 4},
                              {"to_one_pixel", {2, 8, 4, 4}, 1, 1, ResizePlaces::align_corners},
                              {"same", {1, 6, 4, 4}, 4, 4}};
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     const ValueId src = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
                     const Shape shape{problem.src[0], problem.src[1], problem.height, problem.width};
                     graph.mark_output(resize(graph, "y", src, {problem.places, shape}));
                   }});
  return all;
}

}  // namespace

const graph::OpDef resize_op{.name = "resize",
                             .infer = infer,
                             .cost = cost,
                             .gradient = gradient,
                             .cases = cases,
                             .describe = describe,
                             .category = graph::Category::pool};
const graph::OpDef resize_d_src_op{.name = "resize_d_src",
                                   .infer = infer,
                                   .cost = cost_d_src,
                                   .describe = describe,
                                   .category = graph::Category::pool};

ValueId resize(Graph& graph, const std::string& name, ValueId src, const ResizeAttrs& attrs) {
  return graph.add(resize_op, name, {src}, attrs);
}

std::vector<const graph::OpDef*> resize_ops() { return {&resize_op, &resize_d_src_op}; }

}  // namespace trainyard::ops
