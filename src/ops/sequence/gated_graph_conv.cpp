#include "ops/sequence/graph_layers.h"

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

// These offsets count from the input `src`, which segments, rounds, offsets and neighbours follow.
constexpr int kSegments = 1, kRounds = 2, kOffsets = 3, kNeighbours = 4, kWeight = 5;

struct Sizes {
  std::int64_t rows, inputs, hidden, graphs, edges;
};

Sizes checked_sizes(const NodeView& node, int src, const GatedGraphConvAttrs& attrs) {
  node.want_rank(src, 2);
  node.want_rank(src + kWeight, 2);
  for (int i = kSegments; i <= kNeighbours; ++i) {
    node.want_rank(src + i, 1);
    if (node.input(src + i).type.dtype != DType::i32)
      node.refuse("input {} '{}' is {}, wants i32", src + i, node.input(src + i).name,
                  node.input(src + i).type.to_string());
  }
  const Shape &x = node.input_shape(src), &w = node.input_shape(src + kWeight);
  const Sizes sizes{x[0], x[1], w[1], node.input_shape(src + kRounds)[0],
                    node.input_shape(src + kNeighbours)[0]};
  if (attrs.rounds < 1 || attrs.layers < 1 || attrs.layers > 2)
    node.refuse("{} rounds of {} layers: wants at least 1 round, and 1 or 2 layers", attrs.rounds,
                attrs.layers);
  if (sizes.inputs > sizes.hidden || (attrs.rounds > 1 && sizes.inputs != sizes.hidden))
    node.refuse("src is {}, wants {}{} columns", x.to_string(), attrs.rounds > 1 ? "" : "at most ",
                sizes.hidden);
  const Shape gates{3 * sizes.hidden, sizes.hidden};
  for (const int matrix : {src + kWeight, src + kWeight + 1})
    if (!(node.input_shape(matrix) == gates))
      node.refuse("weight of the gates is {}, wants {}", node.input_shape(matrix).to_string(),
                  gates.to_string());
  if (node.input_shape(src + kSegments)[0] != sizes.graphs + 1)
    node.refuse("{} segments, wants {} for {} graphs", node.input_shape(src + kSegments)[0], sizes.graphs + 1,
                sizes.graphs);
  if (node.input_shape(src + kOffsets)[0] != sizes.rows + 1)
    node.refuse("{} offsets, wants {} for {} rows", node.input_shape(src + kOffsets)[0], sizes.rows + 1,
                sizes.rows);
  return sizes;
}

Shape layer_shape(const Sizes& sizes, int layer) {
  return {sizes.hidden, layer == 0 ? sizes.inputs : sizes.hidden};
}

void want_shape(const NodeView& node, int input, const Shape& shape) {
  if (!(node.input_shape(input) == shape))
    node.refuse("input {} '{}' is {}, wants {}", input, node.input(input).name,
                node.input_shape(input).to_string(), shape.to_string());
}

std::vector<TensorType> infer(const NodeView& node) {
  const auto& attrs = node.attrs<GatedGraphConvAttrs>();
  const int inputs = kWeight + 4 + 2 * attrs.layers;
  node.want_inputs(inputs, inputs);
  const Sizes sizes = checked_sizes(node, 0, attrs);
  for (const int bias : {kWeight + 2, kWeight + 3}) want_shape(node, bias, {3 * sizes.hidden});
  for (int layer = 0; layer < attrs.layers; ++layer) {
    want_shape(node, kWeight + 4 + 2 * layer, layer_shape(sizes, layer));
    want_shape(node, kWeight + 5 + 2 * layer, {sizes.hidden});
  }
  const DType dtype = node.dtype();
  std::vector<TensorType> types{{{sizes.rows, sizes.hidden}, dtype}};
  if (!attrs.training) return types;
  types.push_back({{attrs.rounds, sizes.rows, sizes.hidden}, dtype});
  types.push_back({{attrs.rounds * attrs.layers, sizes.rows, sizes.hidden}, dtype});
  types.push_back({{attrs.rounds, sizes.rows, 3 * sizes.hidden}, dtype});
  types.push_back({{attrs.rounds, sizes.rows, sizes.hidden}, dtype});
  return types;
}

// The count covers the whole capacity, because the contents of a batch are not known before it arrives.
std::int64_t product_flops(const Sizes& sizes, const GatedGraphConvAttrs& attrs) {
  const std::int64_t gates = 3 * sizes.hidden * (sizes.inputs + sizes.hidden);
  const std::int64_t layers = sizes.hidden * (sizes.inputs + (attrs.layers - 1) * sizes.hidden);
  return 2 * attrs.rounds * sizes.rows * (gates + layers);
}

std::int64_t other_flops(const Sizes& sizes, const GatedGraphConvAttrs& attrs) {
  constexpr std::int64_t kGates = 3 * 3 + 5;
  return attrs.rounds * (2 * (sizes.edges + sizes.rows) * sizes.inputs + kGates * sizes.rows * sizes.hidden);
}

Cost cost(const NodeView& node) {
  const auto& attrs = node.attrs<GatedGraphConvAttrs>();
  const Sizes sizes = checked_sizes(node, 0, attrs);
  return {.flops = product_flops(sizes, attrs),
          .elementwise_flops = other_flops(sizes, attrs),
          .bytes_moved = bytes_touched(node)};
}

void gradient(GradientContext& context) {
  const auto& attrs = context.node().attrs<GatedGraphConvAttrs>();
  if (!attrs.training)
    fail(ErrorKind::unsupported, "gated_graph_conv '{}': no gradient in inference mode", context.node().name);
  std::vector<ValueId> inputs{context.d_output(0)};
  for (int i = 0; i < kWeight + 2; ++i) inputs.push_back(context.input(i));
  for (int layer = 0; layer < attrs.layers; ++layer) inputs.push_back(context.input(kWeight + 4 + 2 * layer));
  for (int saved = 1; saved < 5; ++saved) {
    TRAINYARD_CHECK(context.d_output(saved) == graph::kNone);
    inputs.push_back(context.output(saved));
  }
  const auto made = context.graph().add_node(gated_graph_conv_grad_op, context.name("/grad"), inputs,
                                             GatedGraphConvGradAttrs{attrs, context.needs(0)});
  for (int i = 0; i < 4 + 2 * attrs.layers; ++i)
    if (context.needs(kWeight + i)) context.set(kWeight + i, made[static_cast<std::size_t>(i)]);
  if (context.needs(0)) context.set(0, made.back());
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  const auto& attrs = node.attrs<GatedGraphConvGradAttrs>();
  const int inputs = 1 + kWeight + 2 + attrs.forward.layers + 4;
  node.want_inputs(inputs, inputs);
  const Sizes sizes = checked_sizes(node, 1, attrs.forward);
  want_shape(node, 0, {sizes.rows, sizes.hidden});
  const DType dtype = node.dtype(), sums = sum_type(dtype);
  std::vector<TensorType> types{{node.input_shape(1 + kWeight), dtype},
                                {node.input_shape(1 + kWeight), dtype},
                                {{3 * sizes.hidden}, sums},
                                {{3 * sizes.hidden}, sums}};
  for (int layer = 0; layer < attrs.forward.layers; ++layer) {
    types.push_back({layer_shape(sizes, layer), dtype});
    types.push_back({{sizes.hidden}, sums});
  }
  if (attrs.d_src) types.push_back({node.input_shape(1), dtype});
  return types;
}

Cost cost_grad(const NodeView& node) {
  const auto& attrs = node.attrs<GatedGraphConvGradAttrs>().forward;
  const Sizes sizes = checked_sizes(node, 1, attrs);
  return {.flops = 2 * product_flops(sizes, attrs),
          .elementwise_flops = 2 * other_flops(sizes, attrs),
          .bytes_moved = bytes_touched(node)};
}

std::string text_of(const GatedGraphConvAttrs& attrs) {
  return fmt::format("{}, {} rounds of {} layers{}", name(attrs.neighbours), attrs.rounds, attrs.layers,
                     attrs.training ? "" : ", inference");
}
std::string describe(const NodeView& node) { return text_of(node.attrs<GatedGraphConvAttrs>()); }
std::string describe_grad(const NodeView& node) {
  const auto& attrs = node.attrs<GatedGraphConvGradAttrs>();
  return text_of(attrs.forward) + (attrs.d_src ? "" : ", without d_src");
}

// Graphs of `nodes` nodes each, in which every node sees the one before, the next and some more; behind them
// `spare` rows of no graph.
struct Problem {
  const char* name;
  std::vector<std::int64_t> nodes, rounds;
  std::int64_t inputs, hidden;
  Neighbours neighbours = Neighbours::normalised;
  int layers = 1;
  std::int64_t spare = 0;
  bool training = true;
};

struct CaseGraphs {
  std::vector<double> segments{0}, offsets{0}, neighbours;
};

CaseGraphs make_graphs(const Problem& problem) {
  CaseGraphs made;
  std::int64_t first = 0;
  for (const std::int64_t count : problem.nodes) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (i > 0) made.neighbours.push_back(static_cast<double>(first + i - 1));
      if (i + 1 < count) made.neighbours.push_back(static_cast<double>(first + i + 1));
      // Edges run one way only, so that the matrix is not symmetric.
      if (i % 3 == 2) made.neighbours.push_back(static_cast<double>(first + i / 2));
      made.offsets.push_back(static_cast<double>(made.neighbours.size()));
    }
    first += count;
    made.segments.push_back(static_cast<double>(first));
  }
  made.offsets.resize(made.offsets.size() + static_cast<std::size_t>(problem.spare), made.offsets.back());
  made.neighbours.push_back(0);  // capacity that no node uses
  return made;
}

void build(Graph& graph, DType dtype, const Problem& problem) {
  const CaseGraphs graphs = make_graphs(problem);
  const auto integers = [&](const char* name, const std::vector<double>& numbers) {
    return graph.add_input(name, {{static_cast<std::int64_t>(numbers.size())}, DType::i32},
                           Initializer::listed(numbers));
  };
  const std::int64_t rows = static_cast<std::int64_t>(graphs.offsets.size()) - 1, hidden = problem.hidden;
  const ValueId src = graph.add_input("src", {{rows, problem.inputs}, dtype}, Initializer::normal(1));
  const GraphBatch batch{integers("segments", graphs.segments),
                         integers("rounds", {problem.rounds.begin(), problem.rounds.end()}),
                         integers("offsets", graphs.offsets), integers("neighbours", graphs.neighbours)};
  const auto parameter = [&](const std::string& name, const Shape& shape) {
    return graph.add_parameter(name, {shape, dtype}, Initializer::normal(0.4));
  };
  GatedGraphConvWeights weights{parameter("weight", {3 * hidden, hidden}),
                                parameter("recurrent_weight", {3 * hidden, hidden}),
                                parameter("bias", {3 * hidden}),
                                parameter("recurrent_bias", {3 * hidden}),
                                {}};
  for (int layer = 0; layer < problem.layers; ++layer) {
    const std::string prefix = fmt::format("layer{}/", layer);
    weights.layers.push_back(parameter(prefix + "weight", {hidden, layer == 0 ? problem.inputs : hidden}));
    weights.layers.push_back(parameter(prefix + "bias", {hidden}));
  }
  std::int64_t most = 1;
  for (const std::int64_t rounds : problem.rounds) most = std::max(most, rounds);
  graph.mark_output(gated_graph_conv(graph, "y", src, batch, weights,
                                     {.neighbours = problem.neighbours,
                                      .rounds = most,
                                      .layers = problem.layers,
                                      .training = problem.training}));
}

std::vector<Case> cases() {
  const Problem problems[] = {
      {"one_node", {1}, {1}, 3, 4},
      {"one_round", {5, 3}, {1, 1}, 3, 8},
      {"rounds", {6}, {3}, 8, 8},
      {"unlike_graphs", {2, 9, 4}, {1, 4, 2}, 6, 6},
      {"no_rounds", {3, 4}, {0, 2}, 5, 5},
      {"empty_graph", {4, 0, 3}, {2, 2, 1}, 7, 7},
      {"spare_rows", {3, 5}, {2, 3}, 9, 9, Neighbours::normalised, 1, 6},
      {"wide", {11, 19}, {2, 1}, 40, 40},
      {"summed", {6, 3}, {2, 3}, 8, 8, Neighbours::summed},
      {"two_layers", {6, 3}, {2, 1}, 8, 8, Neighbours::summed, 2},
      {"two_layers_of_features", {7}, {1}, 3, 17, Neighbours::summed, 2, 2},
      {"inference", {5, 8}, {1, 3}, 16, 16, Neighbours::normalised, 1, 3, false},
      {"inference_two_layers", {5}, {1}, 2, 20, Neighbours::summed, 2, 0, false},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) { build(graph, dtype, problem); }});
  return all;
}

}  // namespace

const graph::OpDef gated_graph_conv_op{.name = "gated_graph_conv",
                                       .infer = infer,
                                       .cost = cost,
                                       .gradient = gradient,
                                       .cases = cases,
                                       .describe = describe,
                                       .lowering = graph::Lowering::exact,
                                       .category = graph::Category::rnn};
const graph::OpDef gated_graph_conv_grad_op{.name = "gated_graph_conv_grad",
                                            .infer = infer_grad,
                                            .cost = cost_grad,
                                            .describe = describe_grad,
                                            .lowering = graph::Lowering::exact,
                                            .category = graph::Category::rnn};

const char* name(Neighbours neighbours) {
  return neighbours == Neighbours::normalised ? "normalised" : "summed";
}

ValueId gated_graph_conv(Graph& graph, const std::string& name, ValueId src, const GraphBatch& batch,
                         const GatedGraphConvWeights& weights, const GatedGraphConvAttrs& attrs) {
  std::vector<ValueId> inputs{src,
                              batch.segments,
                              batch.rounds,
                              batch.offsets,
                              batch.neighbours,
                              weights.weight,
                              weights.recurrent_weight,
                              weights.bias,
                              weights.recurrent_bias};
  inputs.insert(inputs.end(), weights.layers.begin(), weights.layers.end());
  return graph.add_node(gated_graph_conv_op, name, inputs, attrs).front();
}

std::vector<const graph::OpDef*> gated_graph_conv_ops() {
  return {&gated_graph_conv_op, &gated_graph_conv_grad_op};
}

}  // namespace trainyard::ops
