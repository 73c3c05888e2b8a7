#pragma once

#include "graph/op_def.h"
#include "ops/elementwise.h"

namespace trainyard::ops {

// SequenceRows says which rows of a matrix are the steps of a sequence.
struct SequenceRows {
  std::int64_t steps = 1;    // of each sequence
  bool batch_first = false;  // sequence by sequence; false: step by step, as tokens are read

  std::int64_t sequences(std::int64_t rows) const { return rows / steps; }
  std::int64_t row(std::int64_t sequence, std::int64_t step, std::int64_t rows) const {
    return batch_first ? sequence * steps + step : step * sequences(rows) + sequence;
  }
  // Returns the distance of the rows of two steps that follow each other.
  std::int64_t stride(std::int64_t rows) const { return batch_first ? 1 : sequences(rows); }
};

// Throws an Error of kind shape unless input 0 has a whole number of sequences.
void want_sequences(const graph::NodeView& node, const SequenceRows& rows);

struct AttentionAttrs {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;  // each serves heads / kv_heads heads
  SequenceRows rows;
  bool causal = true;        // a step sees itself and the steps before it
  DropoutAttrs dropout{0};   // of the probabilities
  bool column_sums = false;  // set by the fusion pass on gradients: also sum the columns of d_qkv

  std::int64_t head_size(std::int64_t qkv_width) const { return qkv_width / (heads + 2 * kv_heads); }
  double scale(std::int64_t head_size) const { return 1 / std::sqrt(static_cast<double>(head_size)); }
};

inline constexpr std::int64_t kLargestHead = 256;

// A row of qkv holds the queries of all heads, the keys of all kv heads and their values, each a vector of D
// numbers. With R rows of N sequences of T steps:
// qkv (R, (heads + 2 kv_heads) D) [, lengths (i32 N): keys from there on are padding]
// -> dst (R, heads D), log_sums (N, heads, T): of each query the logarithm of the sum of exponentials
// A query that sees no key has a dst of zeros. The memory of kernels grows with T, not with its square: the
// gradient computes the probabilities again.
extern const graph::OpDef attention_op;
// (d_dst, qkv, dst, log_sums [, lengths]) -> d_qkv [, column_sums]
extern const graph::OpDef attention_grad_op;

// lengths may be graph::kNone.
graph::ValueId attention(graph::Graph& graph, const std::string& name, graph::ValueId qkv,
                         graph::ValueId lengths, AttentionAttrs attrs);

// Returns the number of pairs of a query and a key it sees, in one head of one sequence without padding.
std::int64_t attended_pairs(std::int64_t steps, bool causal);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> attention_ops();

}  // namespace trainyard::ops
