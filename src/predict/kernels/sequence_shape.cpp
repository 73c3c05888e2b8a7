#include "predict/kernels/layer_sizes.h"

#include "ops/layer_norm.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/sequence/attention.h"
#include "ops/sequence/experts.h"
#include "ops/sequence/grouped_dense.h"
#include "ops/sequence/position.h"
#include "ops/sequence/recurrent.h"
#include "ops/smooth_unit.h"

namespace trainyard::predict {
namespace {

using graph::NodeView;

// Kernels of attention work by tiles of so many queries and keys, and compute those that causal queries do
// not see where the tile has others that are seen.
constexpr std::int64_t kTile = 64;
// An exponential is a polynomial of some ten products and sums, beside which scores are compared and summed.
constexpr double kFlopsOfExponential = 20;

// Returns the columns whose product takes as long, where all fill vectors: those that fill none are made one
// by one, each as a sum of its own.
double whole_columns(std::int64_t columns) {
  constexpr std::int64_t kVector = 16, kOfSingle = 10;
  const std::int64_t single = columns % kVector;
  return number(columns - single + kOfSingle * single);
}

// Returns the flops of one head of one sequence, as many as its tiles take.
double flops_of_head(const ops::AttentionAttrs& attrs, std::int64_t head, bool forward) {
  constexpr double kStartOfTile = 10;  // columns: its rows are read, compared and scaled
  // Scores, and the sums of values; backward the scores again and their gradients, then those of queries,
  // keys and values.
  const double of_scores = forward ? 1 : 2, of_vectors = forward ? 1 : 3;
  const std::int64_t steps = attrs.rows.steps;
  double flops = 0;
  for (std::int64_t query = 0; query < steps; query += kTile) {
    const std::int64_t queries = std::min(kTile, steps - query),
                       seen = attrs.causal ? query + queries : steps;
    for (std::int64_t key = 0; key < seen; key += kTile) {
      const std::int64_t keys = std::min(kTile, seen - key);
      const double scores = number(head) * (whole_columns(keys) + kStartOfTile),
                   vectors = number(keys) * whole_columns(head);
      flops += number(queries) *
               (2 * (of_scores * scores + of_vectors * vectors) + kFlopsOfExponential * number(keys));
    }
  }
  return flops;
}

bool take_attention(const NodeView& view, KernelShape& shape) {
  const graph::OpDef* op = view.node().op;
  if (op != &ops::attention_op && op != &ops::attention_grad_op) return false;
  const bool forward = op == &ops::attention_op;
  const Shape& qkv = view.input_shape(forward ? 0 : 1);
  const auto& attrs = view.attrs<ops::AttentionAttrs>();
  const double heads = number(attrs.rows.sequences(qkv[0]) * attrs.heads), steps = number(attrs.rows.steps);
  const std::int64_t head = attrs.head_size(qkv[1]);
  shape.flops = heads * flops_of_head(attrs, head, forward);
  shape.rows = steps;
  shape.columns = number(ops::attended_pairs(attrs.rows.steps, attrs.causal)) / steps;
  shape.inner = number(head);
  // Whole heads are spread over processors. Those that share keys read them once.
  shape.place = {doublings(heads) / 2.5,
                 doublings(steps) / 1.8,
                 doublings(number(head)) / 2.2,
                 doublings(number(attrs.heads / attrs.kv_heads)) / 4,
                 attrs.causal ? 0.3 : 0.0,
                 0,
                 attrs.rows.batch_first ? 0.2 : 0.0};
  return true;
}

// Describes `batch` products of (rows, inner) and (inner, columns).
void describe(double batch, double rows, double columns, double inner, KernelShape& shape) {
  shape.rows = rows;
  shape.columns = columns;
  shape.inner = inner;
  shape.place = place_of({.batch = batch, .area = rows, .outputs = columns, .inputs = inner});
}

bool take_matrices(const NodeView& view, KernelShape& shape) {
  const graph::OpDef* op = view.node().op;
  const double flops = number(view.node().op->cost(view).flops);
  if (op == &ops::matmul_op) {
    const Shape& dst = view.output_shape(0);
    const int rank = dst.rank();
    const double rows = number(dst[rank - 2]), columns = number(dst[rank - 1]);
    describe(number(dst.elements()) / rows / columns, rows, columns, flops / 2 / number(dst.elements()),
             shape);
  } else if (op == &ops::grouped_dense_op || op == &ops::grouped_dense_d_src_op) {
    const Shape& weight = view.input_shape(1);
    const bool forward = op == &ops::grouped_dense_op;
    describe(number(weight[0]), number(view.input_shape(0)[0]) / number(weight[0]),
             number(weight[forward ? 1 : 2]), number(weight[forward ? 2 : 1]), shape);
  } else if (op == &ops::grouped_dense_d_weight_op) {
    const Shape& weight = view.output_shape(0);
    describe(number(weight[0]), number(weight[1]), number(weight[2]),
             number(view.input_shape(0)[0]) / number(weight[0]), shape);
  } else {
    return false;
  }
  shape.flops = flops;
  return true;
}

// RowSizes describes what works on rows of numbers, one after the other.
struct RowSizes {
  double rows = 1, width = 1;
  double table = 1;  // rows of a table from which some are read
  double variant = 0;
};

double variant_of(const ops::SmoothUnitAttrs& attrs) {
  const double kind = attrs.kind == ops::SmoothKind::gelu   ? 0
                      : attrs.kind == ops::SmoothKind::silu ? 0.8
                                                            : 0.5;
  return kind + (attrs.gated ? 0.5 : 0.0);
}

bool find_rows(const NodeView& view, RowSizes& sizes) {
  const graph::OpDef* op = view.node().op;
  const auto matrix = [&](const Shape& shape) {
    sizes.width = number(shape[shape.rank() - 1]);
    sizes.rows = number(shape.elements()) / sizes.width;
  };
  if (op == &ops::embedding_op || op == &ops::embedding_d_table_op) {
    const bool forward = op == &ops::embedding_op;
    matrix(forward ? view.output_shape(0) : view.input_shape(0));
    sizes.table = number((forward ? view.input_shape(0) : view.output_shape(0))[0]);
  } else if (op == &ops::sequence_cross_entropy_op || op == &ops::sequence_cross_entropy_grad_op) {
    matrix(view.input_shape(op == &ops::sequence_cross_entropy_op ? 0 : 1));
  } else if (op == &ops::smooth_unit_op || op == &ops::smooth_unit_grad_op) {
    matrix(op == &ops::smooth_unit_op ? view.output_shape(0) : view.input_shape(0));
    sizes.variant = variant_of(view.attrs<ops::SmoothUnitAttrs>());
  } else if (op == &ops::layer_norm_op || op == &ops::layer_norm_grad_op) {
    matrix(view.input_shape(0));
    // A root mean square has neither mean nor offset.
    sizes.variant = view.attrs<ops::LayerNormAttrs>().centred ? 0.0 : 0.5;
  } else {
    constexpr const graph::OpDef* kOnMatrices[] = {
        &ops::add_positions_op,  &ops::positions_d_table_op, &ops::rotary_op,
        &ops::route_op,          &ops::route_grad_op,        &ops::dispatch_op,
        &ops::dispatch_d_src_op, &ops::combine_op,           &ops::combine_grad_op};
    if (std::find(std::begin(kOnMatrices), std::end(kOnMatrices), op) == std::end(kOnMatrices)) return false;
    matrix(view.input_shape(0));
  }
  return true;
}

bool take_rows(const NodeView& view, double bytes, KernelShape& shape) {
  RowSizes sizes;
  if (!find_rows(view, sizes)) return false;
  shape.place = {doublings(sizes.rows) / 2.5, doublings(sizes.width) / 2.5, doublings(sizes.table) / 4, 0,
                 sizes.variant};
  shape.place.back() = doublings(bytes) / 2.5;
  return true;
}

}  // namespace

bool take_sequence_op(const NodeView& view, double bytes, KernelShape& shape) {
  return take_attention(view, shape) || take_matrices(view, shape) || take_rows(view, bytes, shape);
}

}  // namespace trainyard::predict
