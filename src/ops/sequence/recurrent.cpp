#include "ops/sequence/recurrent.h"

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

// Returns the elementwise operations for each number of dst, beside matrix products.
std::int64_t elementwise_flops(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::rnn:
      return 3;
    case RecurrentCell::lstm:
      return 4 * 3 + 5;
    case RecurrentCell::gru:
      return 3 * 3 + 5;
  }
  return 0;
}

bool keeps_gates(RecurrentCell cell) { return cell != RecurrentCell::rnn; }

struct Sizes {
  std::int64_t steps, batch, inputs, hidden, gates;

  // Counts the flops of W x and U h over all steps; the first U h counts, though its h is zero.
  std::int64_t flops() const { return 2 * steps * batch * gates * hidden * (inputs + hidden); }
};

// `src`: the input of that name; both weights follow it.
Sizes checked_sizes(const NodeView& node, int src, RecurrentCell cell) {
  for (const int matrix : {src + 1, src + 2}) node.want_rank(matrix, 2);
  node.want_rank(src, 3);
  const Shape &x = node.input_shape(src), &w = node.input_shape(src + 1), &u = node.input_shape(src + 2);
  const std::int64_t gates = gates_of(cell), hidden = u[1];
  if (u[0] != gates * hidden)
    node.refuse("recurrent weight is {}, {} wants {} rows for its {} columns", u.to_string(), name(cell),
                gates * hidden, hidden);
  if (!(w == Shape{gates * hidden, x[2]}))
    node.refuse("weight is {}, wants {}x{} for input {}", w.to_string(), gates * hidden, x[2], x.to_string());
  return {x[0], x[1], x[2], hidden, gates};
}

std::vector<TensorType> infer_recurrent(const NodeView& node) {
  node.want_inputs(4, 4);
  const auto& attrs = node.attrs<RecurrentAttrs>();
  const Sizes sizes = checked_sizes(node, 0, attrs.cell);
  const bool has_last = attrs.cell == RecurrentCell::gru && node.input_shape(3) == Shape{4 * sizes.hidden};
  if (!has_last && !(node.input_shape(3) == Shape{sizes.gates * sizes.hidden}))
    node.refuse("bias is {}, wants {}", node.input_shape(3).to_string(), sizes.gates * sizes.hidden);
  const TensorType dst{{sizes.steps, sizes.batch, sizes.hidden}, node.dtype()};
  if (!attrs.training || !keeps_gates(attrs.cell)) return {dst};
  return {dst, {{sizes.steps, sizes.batch, sizes.gates * sizes.hidden}, node.dtype()}, dst};
}

Cost cost_recurrent(const NodeView& node) {
  const RecurrentCell cell = node.attrs<RecurrentAttrs>().cell;
  return {.flops = checked_sizes(node, 0, cell).flops(),
          .elementwise_flops = elementwise_flops(cell) * node.output_shape(0).elements(),
          .bytes_moved = bytes_touched(node)};
}

void gradient_recurrent(GradientContext& context) {
  const auto& attrs = context.node().attrs<RecurrentAttrs>();
  if (!attrs.training)
    fail(ErrorKind::unsupported, "recurrent '{}': no gradient in inference mode", context.node().name);
  std::vector<ValueId> inputs{context.d_output(0), context.input(0), context.input(1), context.input(2),
                              context.output(0)};
  for (int saved = 1; saved < static_cast<int>(context.node().outputs.size()); ++saved) {
    TRAINYARD_CHECK(context.d_output(saved) == graph::kNone);
    inputs.push_back(context.output(saved));
  }
  const std::int64_t bias_blocks =
      context.graph().shape(context.input(3))[0] / context.graph().shape(context.input(2))[1];
  const auto made = context.graph().add_node(recurrent_grad_op, context.name("/grad"), inputs,
                                             RecurrentGradAttrs{attrs.cell, context.needs(0), bias_blocks});
  for (int i = 1; i < 4; ++i)
    if (context.needs(i)) context.set(i, made[static_cast<std::size_t>(i - 1)]);
  if (context.needs(0)) context.set(0, made[3]);
}

std::vector<TensorType> infer_grad(const NodeView& node) {
  const auto& attrs = node.attrs<RecurrentGradAttrs>();
  const int inputs = keeps_gates(attrs.cell) ? 7 : 5;
  node.want_inputs(inputs, inputs);
  const Sizes sizes = checked_sizes(node, 1, attrs.cell);
  std::vector<TensorType> types{{node.input_shape(2), node.dtype()},
                                {node.input_shape(3), node.dtype()},
                                {{attrs.bias_blocks * sizes.hidden}, sum_type(node.dtype())}};
  if (attrs.d_src) types.push_back({node.input_shape(1), node.dtype()});
  return types;
}

Cost cost_grad(const NodeView& node) {
  const auto& attrs = node.attrs<RecurrentGradAttrs>();
  const Sizes sizes = checked_sizes(node, 1, attrs.cell);
  const std::int64_t d_src = 2 * sizes.steps * sizes.batch * sizes.gates * sizes.hidden * sizes.inputs;
  return {.flops = 2 * sizes.flops() - (attrs.d_src ? 0 : d_src),
          .elementwise_flops = 2 * elementwise_flops(attrs.cell) * node.input_shape(0).elements(),
          .bytes_moved = bytes_touched(node)};
}

std::string describe(const NodeView& node) {
  const auto& attrs = node.attrs<RecurrentAttrs>();
  return std::string(name(attrs.cell)) + (attrs.training ? "" : ", inference");
}

std::string describe_grad(const NodeView& node) {
  const auto& attrs = node.attrs<RecurrentGradAttrs>();
  return std::string(name(attrs.cell)) + (attrs.d_src ? "" : ", without d_src");
}

struct Problem {
  const char* name;
  Shape src;
  std::int64_t hidden;
  RecurrentCell cell;
  bool training = true;
  std::int64_t more_blocks = 0;  // of the bias
};

// Two layers, so that the gradient of an input is that of a layer too.
void build_stack(Graph& graph, DType dtype, const Problem& problem) {
  const std::int64_t hidden = problem.hidden, rows = gates_of(problem.cell) * hidden;
  ValueId x = graph.add_input("src", {problem.src, dtype}, Initializer::normal(1));
  for (const char* layer : {"a", "b"}) {
    const std::string prefix = std::string(layer) + "/";
    const std::int64_t inputs = graph.shape(x)[2];
    const RecurrentInputs layer_inputs{
        x, graph.add_parameter(prefix + "weight", {{rows, inputs}, dtype}, Initializer::normal(0.4)),
        graph.add_parameter(prefix + "recurrent_weight", {{rows, hidden}, dtype}, Initializer::normal(0.4)),
        graph.add_parameter(prefix + "bias", {{rows + problem.more_blocks * hidden}, dtype},
                            Initializer::normal(0.4))};
    x = recurrent(graph, layer, layer_inputs, {problem.cell, problem.training});
  }
  graph.mark_output(x);
}

std::vector<Case> cases_recurrent() {
  const Problem problems[] = {
      {"rnn", {4, 3, 5}, 6, RecurrentCell::rnn},
      {"rnn_one_step", {1, 4, 8}, 8, RecurrentCell::rnn},
      {"rnn_wide", {2, 5, 20}, 36, RecurrentCell::rnn},
      {"lstm", {4, 3, 5}, 6, RecurrentCell::lstm},
      {"lstm_one_step", {1, 2, 3}, 4, RecurrentCell::lstm},
      {"lstm_batch_one", {5, 1, 7}, 9, RecurrentCell::lstm},
      {"lstm_wide", {2, 5, 20}, 36, RecurrentCell::lstm},
      {"gru", {4, 3, 5}, 6, RecurrentCell::gru},
      {"gru_one_step", {1, 2, 3}, 4, RecurrentCell::gru},
      {"gru_batch_one", {5, 1, 7}, 9, RecurrentCell::gru},
      {"gru_wide", {2, 5, 20}, 36, RecurrentCell::gru},
      {"gru_two_biases", {4, 3, 5}, 6, RecurrentCell::gru, true, 1},
      {"gru_two_biases_one_step", {1, 2, 3}, 4, RecurrentCell::gru, true, 1},
      {"gru_two_biases_wide", {2, 5, 20}, 36, RecurrentCell::gru, true, 1},
      {"gru_two_biases_inference", {3, 4, 6}, 10, RecurrentCell::gru, false, 1},
      {"rnn_inference", {3, 4, 6}, 10, RecurrentCell::rnn, false},
      {"lstm_inference", {3, 4, 6}, 10, RecurrentCell::lstm, false},
      {"gru_inference", {3, 4, 6}, 10, RecurrentCell::gru, false},
  };
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back(
        {problem.name, [problem](Graph& graph, DType dtype) { build_stack(graph, dtype, problem); }});
  return all;
}

}  // namespace

const graph::OpDef recurrent_op{.name = "recurrent",
                                .infer = infer_recurrent,
                                .cost = cost_recurrent,
                                .gradient = gradient_recurrent,
                                .cases = cases_recurrent,
                                .describe = describe,
                                .lowering = graph::Lowering::computes,
                                .category = graph::Category::rnn};
const graph::OpDef recurrent_grad_op{.name = "recurrent_grad",
                                     .infer = infer_grad,
                                     .cost = cost_grad,
                                     .describe = describe_grad,
                                     .lowering = graph::Lowering::computes,
                                     .category = graph::Category::rnn};

const char* name(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::rnn:
      return "rnn";
    case RecurrentCell::lstm:
      return "lstm";
    case RecurrentCell::gru:
      return "gru";
  }
  return "";
}

std::optional<RecurrentCell> find_cell(std::string_view wanted) {
  for (const RecurrentCell cell : {RecurrentCell::rnn, RecurrentCell::lstm, RecurrentCell::gru})
    if (wanted == name(cell)) return cell;
  return std::nullopt;
}

std::int64_t gates_of(RecurrentCell cell) {
  return cell == RecurrentCell::rnn ? 1 : cell == RecurrentCell::lstm ? 4 : 3;
}

ValueId recurrent(Graph& graph, const std::string& name, const RecurrentInputs& inputs,
                  const RecurrentAttrs& attrs) {
  return graph
      .add_node(recurrent_op, name, {inputs.src, inputs.weight, inputs.recurrent_weight, inputs.bias}, attrs)
      .front();
}

namespace {

void want_ids(const NodeView& node, int input) {
  if (node.input(input).type.dtype != DType::i32)
    node.refuse("ids are {}, wants i32", node.input(input).type.to_string());
}

std::vector<TensorType> infer_embedding(const NodeView& node) {
  node.want_inputs(2, 2);
  node.want_rank(0, 2);
  want_ids(node, 1);
  Shape shape = node.input_shape(1);
  if (shape.rank() == Shape::kMaxRank) node.refuse("ids have {} dimensions already", shape.rank());
  shape.append(node.input_shape(0)[1]);
  return {{shape, node.dtype()}};
}

// The kernel reads only the rows that ids name.
Cost cost_embedding(const NodeView& node) {
  return {.bytes_moved = node.input(1).type.bytes() + 2 * node.output(0).type.bytes()};
}

void gradient_embedding(GradientContext& context) {
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

std::vector<Case> cases_embedding() {
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

// Some ids lie outside of the table.
std::vector<Case> cases_d_table() {
  const auto problem = [](std::int64_t ids, std::int64_t vocabulary, std::int64_t width) {
    return [=](Graph& graph, DType dtype) {
      const ValueId named = graph.add_input("ids", {{ids}, DType::i32},
                                            Initializer::integers(-1, static_cast<double>(vocabulary + 1)));
      const ValueId d_dst = graph.add_input("d_dst", {{ids, width}, dtype}, Initializer::normal(1));
      graph.mark_output(
          graph.add(embedding_d_table_op, "d_table", {d_dst, named}, EmbeddingGradAttrs{vocabulary}));
    };
  };
  return {{"few_ids", problem(9, 5, 12)},
          {"large_vocabulary", problem(2100, 5003, 24)},
          {"many_repeats", problem(3000, 3, 264)},
          {"odd_width", problem(1500, 7, 33)},
          {"few_and_many_repeats", problem(35000, 300, 8)}};
}

}  // namespace

const graph::OpDef embedding_op{.name = "embedding",
                                .infer = infer_embedding,
                                .cost = cost_embedding,
                                .gradient = gradient_embedding,
                                .cases = cases_embedding,
                                .lowering = graph::Lowering::computes,
                                .category = graph::Category::copy};
const graph::OpDef embedding_d_table_op{.name = "embedding_d_table",
                                        .infer = infer_d_table,
                                        .cost = cost_d_table,
                                        .cases = cases_d_table,
                                        .lowering = graph::Lowering::computes,
                                        .category = graph::Category::copy};

ValueId embedding(Graph& graph, const std::string& name, ValueId table, ValueId ids) {
  return graph.add(embedding_op, name, {table, ids});
}

std::vector<const graph::OpDef*> recurrent_ops() {
  return {&recurrent_op, &recurrent_grad_op, &embedding_op, &embedding_d_table_op};
}

}  // namespace trainyard::ops
