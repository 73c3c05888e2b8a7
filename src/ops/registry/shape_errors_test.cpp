#include <gtest/gtest.h>

#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/detection.h"
#include "ops/elementwise.h"
#include "ops/layer_norm.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/sequence/experts.h"
#include "ops/sequence/graph_layers.h"
#include "ops/sequence/grouped_dense.h"
#include "ops/sequence/recurrent.h"
#include "ops/shape.h"
#include "ops/smooth_unit.h"
#include "ops/update.h"

// The checks refuse a wrong network in one line that names op and node, the given and the wanted value.
namespace trainyard::ops {
namespace {

using graph::Graph;
using graph::kNone;
using graph::ValueId;

struct Mistake {
  const char* name;
  std::function<void(Graph&)> make;
  const char* message;
};

ValueId tensor(Graph& graph, const char* name, const Shape& shape, DType dtype = DType::f32) {
  return graph.add_input(name, {shape, dtype});
}

ValueId image(Graph& graph) { return tensor(graph, "x", {2, 6, 8, 8}); }

Window2d two_pixels_below() {
  Window2d window = square_window(1, 2);
  window.pad_bottom = 2;
  return window;
}

// The graphs have six nodes together, eight wide: every attribute is right except the changed one.
struct GraphMistake {
  std::int64_t inputs = 8, rounds = 1, segments = 3, offsets = 7;
  DType integers = DType::i32;
};
void two_graphs(Graph& graph, const GraphMistake& given) {
  const auto integers = [&](const char* name, std::int64_t count) {
    return tensor(graph, name, {count}, given.integers);
  };
  gated_graph_conv(graph, "nodes", tensor(graph, "x", {6, given.inputs}),
                   {integers("segments", given.segments), integers("rounds", 2),
                    integers("offsets", given.offsets), integers("neighbours", 10)},
                   {tensor(graph, "w", {24, 8}),
                    tensor(graph, "u", {24, 8}),
                    tensor(graph, "b", {24}),
                    tensor(graph, "c", {24}),
                    {tensor(graph, "layer", {8, given.inputs}), tensor(graph, "bias", {8})}},
                   {.rounds = given.rounds});
}

const Mistake kMistakes[] = {
    {"upsampled_by_nothing", [](Graph& g) { upsample(g, "up", image(g), {0}); },
     "upsample 'up': factor 0 is not 1 or more"},
    {"levels_of_other_images",
     [](Graph& g) {
       anchor_rows(g, "rows", {tensor(g, "a", {2, 9, 4, 4}), tensor(g, "b", {2, 18, 2, 2})});
     },
     "anchor_rows 'rows': level 1 is 2x18x2x2, the first is 2x9x4x4: images and channels must agree"},
    {"channels_of_no_anchor", [](Graph& g) { anchor_rows(g, "rows", {image(g)}); },
     "anchor_rows 'rows': 6 channels are not as many for each of 9 anchors"},
    {"boxes_of_four_numbers",
     [](Graph& g) {
       match_anchors(g, "match", tensor(g, "x", {2, 3, 4}, DType::i32), {{1, {{1, 1, 8}}}});
     },
     "match_anchors 'match': boxes are i32 2x3x4, wants i32 with 5 numbers each"},
    {"labels_of_other_rows",
     [](Graph& g) {
       focal_loss(g, "loss", tensor(g, "x", {4, 3}), tensor(g, "y", {3}, DType::i32), tensor(g, "s", {}));
     },
     "focal_loss 'loss': labels are i32 3, wants i32 4"},
    {"targets_of_other_rows",
     [](Graph& g) {
       box_loss(g, "loss", tensor(g, "x", {4, 4}), tensor(g, "t", {3, 4}), tensor(g, "y", {4}, DType::i32),
                tensor(g, "s", {}));
     },
     "box_loss 'loss': targets are 3x4, offsets are 4x4"},
    {"graph_segments", [](Graph& g) { two_graphs(g, {.segments = 2}); },
     "gated_graph_conv 'nodes': 2 segments, wants 3 for 2 graphs"},
    {"graph_offsets", [](Graph& g) { two_graphs(g, {.offsets = 6}); },
     "gated_graph_conv 'nodes': 6 offsets, wants 7 for 6 rows"},
    {"graph_width", [](Graph& g) { two_graphs(g, {.inputs = 3, .rounds = 2}); },
     "gated_graph_conv 'nodes': src is 6x3, wants 8 columns"},
    {"graph_integers", [](Graph& g) { two_graphs(g, {.integers = DType::f32}); },
     "gated_graph_conv 'nodes': input 1 'segments' is f32 3, wants i32"},
    {"graph_rounds", [](Graph& g) { two_graphs(g, {.rounds = 0}); },
     "gated_graph_conv 'nodes': 0 rounds of 1 layers: wants at least 1 round, and 1 or 2 layers"},
    {"set2set_weights",
     [](Graph& g) {
       set2set(g, "read",
               {tensor(g, "x", {6, 8}), tensor(g, "segments", {3}, DType::i32),
                tensor(g, "steps", {2}, DType::i32), tensor(g, "w", {32, 8}), tensor(g, "u", {32, 8}),
                tensor(g, "b", {32})},
               {.steps = 2});
     },
     "set2set 'read': weights are 32x8 and 32x8, wants 32x16 and 32x8"},
    {"embedding_ids",
     [](Graph& g) {
       embedding(g, "words", tensor(g, "table", {9, 4}), tensor(g, "ids", {5, 2}));
     },
     "embedding 'words': ids are f32 5x2, wants i32"},
    {"recurrent_rows",
     [](Graph& g) {
       recurrent(g, "cell",
                 {tensor(g, "x", {5, 2, 3}), tensor(g, "w", {16, 3}), tensor(g, "u", {12, 4}),
                  tensor(g, "b", {16})},
                 {RecurrentCell::lstm});
     },
     "recurrent 'cell': recurrent weight is 12x4, lstm wants 16 rows for its 4 columns"},
    {"recurrent_weight",
     [](Graph& g) {
       recurrent(g, "cell",
                 {tensor(g, "x", {5, 2, 3}), tensor(g, "w", {12, 4}), tensor(g, "u", {12, 4}),
                  tensor(g, "b", {12})},
                 {RecurrentCell::gru});
     },
     "recurrent 'cell': weight is 12x4, wants 12x3 for input 5x2x3"},
    {"recurrent_bias",
     [](Graph& g) {
       recurrent(
           g, "cell",
           {tensor(g, "x", {5, 2, 3}), tensor(g, "w", {4, 3}), tensor(g, "u", {4, 4}), tensor(g, "b", {5})},
           {RecurrentCell::rnn});
     },
     "recurrent 'cell': bias is 5, wants 4"},
    {"sequence_labels",
     [](Graph& g) {
       sequence_cross_entropy(g, "loss", tensor(g, "x", {5, 2, 3}), tensor(g, "y", {2, 5}, DType::i32),
                              tensor(g, "n", {2}, DType::i32));
     },
     "sequence_cross_entropy 'loss': logits are 5x2x3, wants a row for each of 2x5 labels"},
    {"sequence_label_type",
     [](Graph& g) {
       sequence_cross_entropy(g, "loss", tensor(g, "x", {10, 3}), tensor(g, "y", {5, 2}),
                              tensor(g, "n", {2}, DType::i32));
     },
     "sequence_cross_entropy 'loss': input 1 'y' is f32 5x2, wants i32"},
    {"sequence_lengths",
     [](Graph& g) {
       sequence_cross_entropy(g, "loss", tensor(g, "x", {5, 2, 3}), tensor(g, "y", {5, 2}, DType::i32),
                              tensor(g, "n", {5}, DType::i32));
     },
     "sequence_cross_entropy 'loss': lengths are 5, wants 2"},
    {"conv_groups",
     [](Graph& g) {
       conv2d(g, "stem", image(g), tensor(g, "w", {8, 1, 3, 3}), kNone, {square_window(3), 4});
     },
     "conv2d 'stem': groups 4 does not divide input channels 6"},
    {"conv_group_outputs",
     [](Graph& g) {
       conv2d(g, "stem", image(g), tensor(g, "w", {8, 2, 3, 3}), kNone, {square_window(3), 3});
     },
     "conv2d 'stem': groups 3 does not divide output channels 8"},
    {"conv_weight",
     [](Graph& g) {
       conv2d(g, "stem", image(g), tensor(g, "w", {8, 5, 3, 3}), kNone, {square_window(3)});
     },
     "conv2d 'stem': weight is 8x5x3x3, wants 8x6x3x3 for input 2x6x8x8 and groups 1"},
    {"conv_bias",
     [](Graph& g) {
       conv2d(g, "stem", image(g), tensor(g, "w", {8, 6, 3, 3}), tensor(g, "b", {7}), {square_window(3)});
     },
     "conv2d 'stem': bias is 7, wants 8"},
    {"conv_rank",
     [](Graph& g) {
       conv2d(g, "stem", tensor(g, "x", {2, 6}), tensor(g, "w", {8, 6, 3, 3}), kNone, {square_window(3)});
     },
     "conv2d 'stem': input 0 'x' is 2x6, wants 4 dimensions"},
    {"conv_window_too_large",
     [](Graph& g) {
       conv2d(g, "stem", image(g), tensor(g, "w", {8, 6, 9, 9}), kNone, {square_window(9)});
     },
     "conv2d 'stem': window 9x9 is larger than its padded input 2x6x8x8"},
    {"conv_stride",
     [](Graph& g) {
       conv2d(g, "stem", image(g), tensor(g, "w", {8, 6, 3, 3}), kNone, {square_window(3, 0)});
     },
     "conv2d 'stem': window 3x3 stride 0 has a kernel, stride or dilation below 1"},
    {"conv_inputs", [](Graph& g) { g.add(conv2d_op, "stem", {image(g)}, Conv2dAttrs{}); },
     "conv2d 'stem': got 1 inputs, wants 2 to 3"},
    {"dense_weight",
     [](Graph& g) {
       dense(g, "fc", tensor(g, "x", {4, 10}), tensor(g, "w", {7, 9}), kNone);
     },
     "dense 'fc': weight is 7x9, input is 4x10: all dimensions but the first must agree"},
    {"dense_rank", [](Graph& g) { dense(g, "fc", tensor(g, "x", {4}), tensor(g, "w", {7}), kNone); },
     "dense 'fc': input is 4, wants at least 2 dimensions"},
    {"dense_bias",
     [](Graph& g) {
       dense(g, "fc", tensor(g, "x", {4, 10}), tensor(g, "w", {7, 10}), tensor(g, "b", {10}));
     },
     "dense 'fc': bias is 10, wants 7"},
    {"max_pool_padding", [](Graph& g) { max_pool(g, "pool", image(g), square_window(2, 2, 2)); },
     "max_pool 'pool': window 2x2 stride 2 pad 2 would see padding only, input is 2x6x8x8"},
    {"max_pool_padding_below", [](Graph& g) { max_pool(g, "pool", image(g), two_pixels_below()); },
     "max_pool 'pool': window 1x1 stride 2 pad 0,0,2,0 would see padding only, input is 2x6x8x8"},
    {"max_pool_places",
     [](Graph& g) {
       max_pool(g, "pool", tensor(g, "x", {1, 1, 20, 20}), square_window(17));
     },
     "max_pool 'pool': window 17x17 has more than 256 places"},
    {"average_pool_rank",
     [](Graph& g) {
       average_pool(g, "pool", tensor(g, "x", {2, 6}), {square_window(2)});
     },
     "average_pool 'pool': input 0 'x' is 2x6, wants 4 dimensions"},
    {"global_average_pool_rank",
     [](Graph& g) {
       global_average_pool(g, "pool", tensor(g, "x", {2, 6}));
     },
     "average_pool 'pool': input is 2x6, wants 4 dimensions"},
    {"batch_norm_channels",
     [](Graph& g) {
       const ValueId right = tensor(g, "right", {6}), wrong = tensor(g, "beta", {5});
       batch_norm(g, "norm", {image(g), right, wrong, right, right}, {});
     },
     "batch_norm 'norm': input 2 'beta' is 5, wants 6"},
    {"batch_norm_rank",
     [](Graph& g) {
       const ValueId c = tensor(g, "c", {6});
       batch_norm(g, "norm", {tensor(g, "x", {2, 6, 8}), c, c, c, c}, {});
     },
     "batch_norm 'norm': input is 2x6x8, wants 2 or 4 dimensions"},
    {"local_response_norm_window", [](Graph& g) { local_response_norm(g, "lrn", image(g), {.window = 4}); },
     "local_response_norm 'lrn': window 4 is not an odd number"},
    {"add_shapes",
     [](Graph& g) {
       add(g, "sum", {image(g), tensor(g, "y", {2, 6, 8, 7})});
     },
     "add 'sum': input 1 'y' is f32 2x6x8x7, input 0 is f32 2x6x8x8"},
    {"multiply_types",
     [](Graph& g) { multiply(g, "product", tensor(g, "a", {3}), tensor(g, "b", {3}, DType::f64)); },
     "multiply 'product': inputs are f32 3 and f64 3, want equal shapes"},
    {"activation_grad_shapes",
     [](Graph& g) { activation_grad(g, "d", tensor(g, "a", {3}), tensor(g, "b", {4}), {}); },
     "activation_grad 'd': gradient is f32 3, output is f32 4"},
    {"concat_axis", [](Graph& g) { concat(g, "join", {image(g)}, 4); },
     "concat 'join': axis 4 is not one of 2x6x8x8"},
    {"concat_shapes",
     [](Graph& g) {
       concat(g, "join", {image(g), tensor(g, "y", {2, 6, 7, 8})}, 1);
     },
     "concat 'join': input 1 'y' is 2x6x7x8, wants 2x6x8x8 but for axis 1"},
    {"slice_outside",
     [](Graph& g) {
       slice(g, "crop", tensor(g, "x", {4, 4}), {0, 2}, {4, 3});
     },
     "slice 'crop': box 4x3 at 0x2 is not inside input 4x4"},
    {"slice_empty",
     [](Graph& g) {
       slice(g, "crop", tensor(g, "x", {4, 4}), {0, 2}, {4, 0});
     },
     "slice 'crop': its output would be 4x0"},
    {"pad_axes",
     [](Graph& g) {
       pad(g, "pad", tensor(g, "x", {4, 4}), {1}, {1});
     },
     "pad 'pad': padding has 1 axes, input 4x4 has 2"},
    {"pad_negative",
     [](Graph& g) {
       pad(g, "pad", tensor(g, "x", {4, 4}), {0, -1}, {0, 0});
     },
     "pad 'pad': padding on axis 1 is negative"},
    {"reshape_elements",
     [](Graph& g) {
       reshape(g, "flat", tensor(g, "x", {4, 4}), {15});
     },
     "reshape 'flat': input 4x4 has 16 elements, 15 wants 15"},
    {"dropout_rate", [](Graph& g) { dropout(g, "drop", image(g), 1); },
     "dropout 'drop': rate 1 is not in [0, 1)"},
    {"softmax_rank", [](Graph& g) { softmax(g, "p", image(g)); },
     "softmax 'p': input 0 'x' is 2x6x8x8, wants 2 dimensions"},
    {"cross_entropy_labels",
     [](Graph& g) {
       softmax_cross_entropy(g, "loss", tensor(g, "x", {4, 10}), tensor(g, "y", {5}, DType::i32));
     },
     "softmax_cross_entropy 'loss': labels are i32 5, wants i32 4 or f32 4x10"},
    {"cross_entropy_smoothing",
     [](Graph& g) {
       softmax_cross_entropy(g, "loss", tensor(g, "x", {4, 10}), tensor(g, "y", {4}, DType::i32), {1.5});
     },
     "softmax_cross_entropy 'loss': label smoothing 1.5 is not in [0, 1)"},
    {"route_choices",
     [](Graph& g) {
       route(g, "route", tensor(g, "x", {6, 4}), {5});
     },
     "route 'route': 5 choices among 4 experts"},
    {"route_experts",
     [](Graph& g) {
       route(g, "route", tensor(g, "x", {6, 1025}), {2});
     },
     "route 'route': scores of 1025 experts, at most 1024 are possible"},
    {"route_places",
     [](Graph& g) {
       route(g, "route", tensor(g, "x", {std::int64_t{1} << 30, 2}), {2});
     },
     "route 'route': 1073741824 rows with 2 choices each are more than 32 bits count"},
    {"dispatch_place",
     [](Graph& g) {
       dispatch(g, "to", tensor(g, "x", {6, 4}), tensor(g, "place", {5, 2}, DType::i32));
     },
     "dispatch 'to': input 1 'place' is i32 5x2, wants i32 6x2"},
    {"combine_rows",
     [](Graph& g) {
       const ValueId gates = tensor(g, "gates", {6, 2}), place = tensor(g, "place", {6, 2}, DType::i32);
       combine(g, "sum", tensor(g, "x", {11, 4}),
               {.gates = gates, .chosen = place, .place = place, .offsets = place});
     },
     "combine 'sum': input 0 'x' is 11x4, wants 12x4"},
    {"balance_offsets",
     [](Graph& g) {
       balance_penalty(g, "even", {{tensor(g, "x", {6, 4}), tensor(g, "offsets", {4}, DType::i32)}}, 0.1);
     },
     "balance_penalty 'even': scores are 6x4, offsets are i32 4, wants i32 5"},
    {"balance_inputs", [](Graph& g) { balance_penalty(g, "even", {}, 0.1); },
     "balance_penalty 'even': got 0 inputs, wants scores and offsets of each layer"},
    {"grouped_dense_weight",
     [](Graph& g) {
       grouped_dense(g, "in", tensor(g, "x", {6, 4}), tensor(g, "w", {3, 8, 5}),
                     tensor(g, "offsets", {4}, DType::i32), graph::kNone);
     },
     "grouped_dense 'in': weight is 3x8x5, input is 6x4: the last dimensions must agree"},
    {"grouped_dense_offsets",
     [](Graph& g) {
       grouped_dense(g, "in", tensor(g, "x", {6, 4}), tensor(g, "w", {3, 8, 4}), tensor(g, "offsets", {4}),
                     graph::kNone);
     },
     "grouped_dense 'in': offsets are f32 4, wants i32 4 for 3 groups"},
    {"grouped_dense_bias",
     [](Graph& g) {
       grouped_dense(g, "in", tensor(g, "x", {6, 4}), tensor(g, "w", {3, 8, 4}),
                     tensor(g, "offsets", {4}, DType::i32), tensor(g, "bias", {8}));
     },
     "grouped_dense 'in': bias is 8, wants 24"},
    {"l2_penalty_inputs", [](Graph& g) { l2_penalty(g, "l2", {}, 0.1); }, "l2_penalty 'l2': got no weights"},
    {"fill_inputs",
     [](Graph& g) {
       g.add(fill_op, "one", {image(g)}, FillAttrs{{{1}, DType::f32}, 1});
     },
     "fill 'one': got 1 inputs, wants 0"},
    {"layer_norm_term",
     [](Graph& g) {
       g.add_node(layer_norm_op, "norm",
                  {tensor(g, "x", {6, 8}), tensor(g, "gamma", {8}), tensor(g, "beta", {8}),
                   tensor(g, "term", {5, 8})},
                  LayerNormAttrs{.adds = true});
     },
     "layer_norm 'norm': the term is f32 5x8, wants f32 6x8"},
    {"layer_norm_grad_term",
     [](Graph& g) {
       g.add_node(layer_norm_grad_op, "norm",
                  {tensor(g, "d", {6, 8}), tensor(g, "x", {6, 8}), tensor(g, "gamma", {8}),
                   tensor(g, "inverse", {6}), tensor(g, "mean", {6})},
                  LayerNormAttrs{.adds = true});
     },
     "layer_norm_grad 'norm': got 5 inputs, wants 6"},
    {"smooth_unit_gated_columns",
     [](Graph& g) {
       g.add_node(smooth_unit_grad_op, "unit", {tensor(g, "d", {6, 8}), tensor(g, "x", {6, 16})},
                  SmoothUnitAttrs{.gated = true, .column_sums = true});
     },
     "smooth_unit_grad 'unit': a gated unit sums no columns"},
    {"update_shapes", [](Graph& g) { update(g, "update", {tensor(g, "p", {3})}, {tensor(g, "g", {4})}, {}); },
     "update 'update': input 1 'g' is f32 4, its parameter is f32 3"},
    {"input_dimension",
     [](Graph& g) {
       tensor(g, "x", {4, 0});
     },
     "input 'x': shape 4x0 has a dimension below 1"},
};

class ShapeError : public testing::TestWithParam<Mistake> {};

TEST_P(ShapeError, NamesOpNodeAndShapes) {
  Graph graph;
  try {
    GetParam().make(graph);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::shape);
    EXPECT_STREQ(error.what(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, ShapeError, testing::ValuesIn(kMistakes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace trainyard::ops
