#include "ops/detection.h"

#include "ops/elementwise.h"

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

// Numbers of an anchor in a level: its channels over the shapes of a cell.
std::int64_t numbers_of(const NodeView& node, const Shape& level) {
  if (level[1] % Anchors::kShapes != 0)
    node.refuse("{} channels are not as many for each of {} anchors", level[1], Anchors::kShapes);
  return level[1] / Anchors::kShapes;
}

std::int64_t anchors_of(const Shape& level) { return level[2] * level[3] * Anchors::kShapes; }

std::vector<TensorType> infer_anchor_rows(const NodeView& node) {
  node.want_inputs(1, Anchors::kMostLevels);
  std::int64_t anchors = 0;
  for (int i = 0; i < node.inputs(); ++i) {
    node.want_rank(i, 4);
    const Shape &level = node.input_shape(i), &first = node.input_shape(0);
    if (level[0] != first[0] || level[1] != first[1])
      node.refuse("level {} is {}, the first is {}: images and channels must agree", i, level.to_string(),
                  first.to_string());
    anchors += anchors_of(level);
  }
  const Shape& first = node.input_shape(0);
  return {{{first[0] * anchors, numbers_of(node, first)}, node.dtype()}};
}

Cost cost_move(const NodeView& node) { return {.bytes_moved = graph::bytes_touched(node)}; }

void gradient_anchor_rows(GradientContext& context) {
  std::int64_t first = 0;
  for (int i = 0; i < static_cast<int>(context.node().inputs.size()); ++i) {
    const Shape level = context.graph().shape(context.input(i));
    if (context.needs(i))
      context.set(i, context.graph().add(anchor_rows_d_src_op, context.name("/d_src"), {context.d_output(0)},
                                         AnchorRowsGradAttrs{level, first}));
    first += anchors_of(level);
  }
}

std::vector<TensorType> infer_anchor_rows_d_src(const NodeView& node) {
  node.want_inputs(1, 1);
  node.want_rank(0, 2);
  return {{node.attrs<AnchorRowsGradAttrs>().level, node.dtype()}};
}

// Only the rows of the level are read.
Cost cost_anchor_rows_d_src(const NodeView& node) { return {.bytes_moved = 2 * node.output(0).type.bytes()}; }

std::vector<Case> cases_anchor_rows() {
  struct Problem {
    const char* name;
    std::int64_t images, numbers;
    std::vector<std::pair<std::int64_t, std::int64_t>> levels;
  };
  const Problem problems[] = {{"one_level", 2, 4, {{3, 5}}},
                              {"three_levels", 2, 5, {{4, 6}, {2, 3}, {1, 2}}},
                              {"one_image", 1, 16, {{5, 5}, {3, 3}}},
                              {"one_number", 3, 1, {{2, 2}, {1, 1}}}};
  std::vector<Case> all;
  for (const Problem& problem : problems)
    all.push_back({problem.name, [problem](Graph& graph, DType dtype) {
                     std::vector<ValueId> levels;
                     for (const auto& [rows, columns] : problem.levels)
                       levels.push_back(graph.add_input(
                           fmt::format("level{}", levels.size()),
                           {{problem.images, Anchors::kShapes * problem.numbers, rows, columns}, dtype},
                           Initializer::normal(1)));
                     graph.mark_output(anchor_rows(graph, "rows", levels));
                   }});
  return all;
}

std::vector<TensorType> infer_match_anchors(const NodeView& node) {
  node.want_inputs(1, 1);
  node.want_rank(0, 3);
  const auto& attrs = node.attrs<MatchAnchorsAttrs>();
  const auto& boxes = node.input(0).type;
  if (boxes.dtype != DType::i32 || boxes.shape[2] != kBoxNumbers)
    node.refuse("boxes are {}, wants i32 with {} numbers each", boxes.to_string(), kBoxNumbers);
  const std::int64_t rows = boxes.shape[0] * attrs.anchors.count();
  if (rows < 1) node.refuse("there are no anchors");
  return {{{rows}, DType::i32}, {{rows, 4}, attrs.dtype}, {{}, attrs.dtype}};
}

// Each anchor is compared with each box: two rectangles, and one of what they share.
Cost cost_match_anchors(const NodeView& node) {
  return {.elementwise_flops = 16 * node.output_shape(0)[0] * node.input_shape(0)[1],
          .bytes_moved = graph::bytes_touched(node)};
}

std::vector<Case> cases_match_anchors() {
  const auto problem = [](std::int64_t images, std::vector<double> boxes, const Anchors& anchors) {
    return [=](Graph& graph, DType dtype) {
      const auto most = static_cast<std::int64_t>(boxes.size()) / kBoxNumbers / images;
      const ValueId listed =
          graph.add_input("boxes", {{images, most, kBoxNumbers}, DType::i32}, Initializer::listed(boxes));
      const MatchedAnchors matched = match_anchors(graph, "anchors", listed, {anchors, dtype});
      for (const ValueId output : {matched.labels, matched.targets, matched.share}) graph.mark_output(output);
    };
  };
  const Anchors two_levels{2, {{4, 6, 8}, {2, 3, 16}}}, one{1, {{3, 3, 8}}};
  return {{"boxes_in_two_images", problem(2, {3, 2, 1, 34, 30, 7, 20, 4, 44, 28, -1, 0, 0, 0, 0,
                                              0, 1, 1, 47, 31, 5, 8,  8, 40, 24, 2,  5, 3, 4, 9},
                                          two_levels)},
          {"no_box", problem(1, {-1, 0, 0, 24, 24}, one)},
          {"the_best_of_some", problem(1, {1, 0, 0, 24, 24, 4, 1, 1, 25, 25, 2, 0, 0, 24, 23}, one)}};
}

}  // namespace

const graph::OpDef anchor_rows_op{.name = "anchor_rows",
                                  .infer = infer_anchor_rows,
                                  .cost = cost_move,
                                  .gradient = gradient_anchor_rows,
                                  .cases = cases_anchor_rows,
                                  .category = graph::Category::copy};
const graph::OpDef anchor_rows_d_src_op{.name = "anchor_rows_d_src",
                                        .infer = infer_anchor_rows_d_src,
                                        .cost = cost_anchor_rows_d_src,
                                        .category = graph::Category::copy};
const graph::OpDef match_anchors_op{.name = "match_anchors",
                                    .infer = infer_match_anchors,
                                    .cost = cost_match_anchors,
                                    .cases = cases_match_anchors,
                                    .lowering = graph::Lowering::mixed,
                                    .category = graph::Category::loss};

ValueId anchor_rows(Graph& graph, const std::string& name, const std::vector<ValueId>& levels) {
  return graph.add(anchor_rows_op, name, levels);
}

MatchedAnchors match_anchors(Graph& graph, const std::string& name, ValueId boxes,
                             const MatchAnchorsAttrs& attrs) {
  const auto made = graph.add_node(match_anchors_op, name, {boxes}, attrs);
  return {made[0], made[1], made[2]};
}

namespace {

// Labels and share stand at these inputs; `rows`: the input that has a row for each label.
void check_matched(const NodeView& node, int rows, int labels) {
  node.want_rank(rows, 2);
  const auto &label = node.input(labels).type, &share = node.input(labels + 1).type;
  if (label.dtype != DType::i32 || !(label.shape == Shape{node.input_shape(rows)[0]}))
    node.refuse("labels are {}, wants i32 {}", label.to_string(), node.input_shape(rows)[0]);
  if (!(share.shape == Shape{})) node.refuse("the share is {}, wants a scalar", share.to_string());
}

std::vector<TensorType> infer_focal_loss(const NodeView& node) {
  node.want_inputs(3, 3);
  check_matched(node, 0, 1);
  const auto& attrs = node.attrs<FocalLossAttrs>();
  if (!(attrs.alpha >= 0 && attrs.alpha <= 1)) node.refuse("alpha {} is not in [0, 1]", attrs.alpha);
  if (!(attrs.gamma >= 1)) node.refuse("gamma {} is not 1 or more", attrs.gamma);
  return {{{}, sum_type(node.dtype())}};
}

Cost cost_focal_loss(const NodeView& node) {
  return {.elementwise_flops = 10 * node.input_shape(0).elements(),
          .bytes_moved = graph::bytes_touched(node)};
}

void gradient_focal_loss(GradientContext& context) {
  if (!context.needs(0) || context.d_output(0) == graph::kNone) return;
  context.set(0,
              context.graph().add(focal_loss_grad_op, context.name("/d_logits"),
                                  {context.d_output(0), context.input(0), context.input(1), context.input(2)},
                                  context.node().attributes));
}

std::vector<TensorType> infer_focal_loss_grad(const NodeView& node) {
  node.want_inputs(4, 4);
  check_matched(node, 1, 2);
  return {node.input(1).type};
}

Cost cost_focal_loss_grad(const NodeView& node) { return graph::elementwise_cost(node, 14); }

// Labels of every kind, and classes that none of them names.
Initializer some_labels(std::int64_t rows, std::int64_t classes) {
  std::vector<double> labels;
  for (std::int64_t row = 0; row < rows; ++row)
    labels.push_back(static_cast<double>(row % 4 == 0   ? row * 7 % classes
                                         : row % 4 == 1 ? AnchorTarget::kPassedOver
                                                        : AnchorTarget::kBackground));
  return Initializer::listed(std::move(labels));
}

struct LossInputs {
  ValueId values, labels, share;
};
LossInputs loss_inputs(Graph& graph, const Shape& shape, std::int64_t classes, DType dtype) {
  return {graph.add_input("values", {shape, dtype}, Initializer::normal(2)),
          graph.add_input("labels", {{shape[0]}, DType::i32}, some_labels(shape[0], classes)),
          graph.add_state("share", {{}, dtype}, graph::Role::statistic, Initializer::constant(0.125))};
}

std::vector<Case> cases_focal_loss() {
  const auto problem = [](std::int64_t rows, std::int64_t classes, const FocalLossAttrs& attrs) {
    return [=](Graph& graph, DType dtype) {
      const LossInputs in = loss_inputs(graph, {rows, classes}, classes, dtype);
      graph.mark_output(focal_loss(graph, "loss", in.values, in.labels, in.share, attrs));
    };
  };
  return {{"eighty_classes", problem(37, 80, {})},
          {"one_class", problem(9, 1, {})},
          {"odd", problem(13, 7, {0.4, 1.5})},
          {"linear", problem(8, 3, {0.5, 1})},
          {"many_rows", problem(1203, 5, {})}};
}

std::vector<TensorType> infer_box_loss(const NodeView& node) {
  node.want_inputs(4, 4);
  check_matched(node, 0, 2);
  if (!(node.input_shape(1) == node.input_shape(0)))
    node.refuse("targets are {}, offsets are {}", node.input_shape(1).to_string(),
                node.input_shape(0).to_string());
  if (!(node.attrs<BoxLossAttrs>().beta > 0))
    node.refuse("beta {} is not positive", node.attrs<BoxLossAttrs>().beta);
  return {{{}, sum_type(node.dtype())}};
}

Cost cost_box_loss(const NodeView& node) {
  return {.elementwise_flops = 4 * node.input_shape(0).elements(), .bytes_moved = graph::bytes_touched(node)};
}

void gradient_box_loss(GradientContext& context) {
  if (!context.needs(0) || context.d_output(0) == graph::kNone) return;
  context.set(0, context.graph().add(box_loss_grad_op, context.name("/d_offsets"),
                                     {context.d_output(0), context.input(0), context.input(1),
                                      context.input(2), context.input(3)},
                                     context.node().attributes));
}

std::vector<TensorType> infer_box_loss_grad(const NodeView& node) {
  node.want_inputs(5, 5);
  check_matched(node, 1, 3);
  return {node.input(1).type};
}

Cost cost_box_loss_grad(const NodeView& node) { return graph::elementwise_cost(node, 4); }

std::vector<Case> cases_box_loss() {
  const auto problem = [](std::int64_t rows, double beta) {
    return [=](Graph& graph, DType dtype) {
      const LossInputs in = loss_inputs(graph, {rows, 4}, 5, dtype);
      // Targets are state, so that the gradient check leaves them alone.
      const ValueId targets =
          graph.add_state("targets", {{rows, 4}, dtype}, graph::Role::statistic, Initializer::constant(0.3));
      graph.mark_output(box_loss(graph, "loss", in.values, targets, in.labels, in.share, {beta}));
    };
  };
  return {{"some", problem(21, 1.0 / 9)}, {"wide", problem(10, 2)}, {"many_rows", problem(2501, 1)}};
}

}  // namespace

const graph::OpDef focal_loss_op{.name = "focal_loss",
                                 .infer = infer_focal_loss,
                                 .cost = cost_focal_loss,
                                 .gradient = gradient_focal_loss,
                                 .cases = cases_focal_loss,
                                 .lowering = graph::Lowering::mixed,
                                 .category = graph::Category::loss};
const graph::OpDef focal_loss_grad_op{.name = "focal_loss_grad",
                                      .infer = infer_focal_loss_grad,
                                      .cost = cost_focal_loss_grad,
                                      .lowering = graph::Lowering::mixed,
                                      .category = graph::Category::loss};
const graph::OpDef box_loss_op{.name = "box_loss",
                               .infer = infer_box_loss,
                               .cost = cost_box_loss,
                               .gradient = gradient_box_loss,
                               .cases = cases_box_loss,
                               .lowering = graph::Lowering::mixed,
                               .category = graph::Category::loss};
const graph::OpDef box_loss_grad_op{.name = "box_loss_grad",
                                    .infer = infer_box_loss_grad,
                                    .cost = cost_box_loss_grad,
                                    .lowering = graph::Lowering::mixed,
                                    .category = graph::Category::loss};

ValueId focal_loss(Graph& graph, const std::string& name, ValueId logits, ValueId labels, ValueId share,
                   const FocalLossAttrs& attrs) {
  return graph.add(focal_loss_op, name, {logits, labels, share}, attrs);
}

ValueId box_loss(Graph& graph, const std::string& name, ValueId offsets, ValueId targets, ValueId labels,
                 ValueId share, const BoxLossAttrs& attrs) {
  return graph.add(box_loss_op, name, {offsets, targets, labels, share}, attrs);
}

std::vector<const graph::OpDef*> detection_ops() {
  return {&anchor_rows_op,     &anchor_rows_d_src_op, &match_anchors_op, &focal_loss_op,
          &focal_loss_grad_op, &box_loss_op,          &box_loss_grad_op};
}

}  // namespace trainyard::ops
