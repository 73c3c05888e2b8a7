#pragma once

#include "ops/sequence/attention.h"

namespace trainyard::ops {

// src (R, E), table (P, E), at least as many positions as steps -> src + the table's row of each step
extern const graph::OpDef add_positions_op;
// (d_dst) -> d_table (P, E): the sum over sequences, zero beyond their steps
extern const graph::OpDef positions_d_table_op;

struct PositionsAttrs {
  SequenceRows rows;
  std::int64_t positions = 0;  // set by the gradient: rows of the table
};

graph::ValueId add_positions(graph::Graph& graph, const std::string& name, graph::ValueId src,
                             graph::ValueId table, const SequenceRows& rows);

// Returns the table (steps, width) of "Attention is all you need": sines in even columns and cosines in odd
// ones, of step / 10000^(column / width) with the column rounded down to even.
std::vector<double> sinusoids(std::int64_t steps, std::int64_t width);

struct RotaryAttrs {
  std::int64_t heads = 1;      // the first ones of a row, which are rotated: queries and keys
  std::int64_t head_size = 2;  // even
  SequenceRows rows;
  double base = 10000;
  bool inverse = false;  // rotates back, which is the gradient
};

// src (R, W) [, first (i32 1): the place of the first step, else 0] -> dst (R, W): the halves (a, b) of each
// head become (a cos - b sin, a sin + b cos), where the angle of pair i at step t is t * base^(-2 i /
// head_size). The rest of the row is copied.
extern const graph::OpDef rotary_op;

// first may be graph::kNone.
graph::ValueId rotary(graph::Graph& graph, const std::string& name, graph::ValueId src, graph::ValueId first,
                      const RotaryAttrs& attrs);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> position_ops();

}  // namespace trainyard::ops
