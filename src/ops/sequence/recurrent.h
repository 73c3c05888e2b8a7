#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

// With x the input of a step, h and c the state before it, s the logistic function and * element by element:
//   rnn   h' = tanh(W x + U h + b)
//   lstm  i, f, o = s(W x + U h + b), g = tanh(W x + U h + b); c' = f * c + i * g; h' = o * tanh(c')
//   gru   r, z = s(W x + U h + b), n = tanh(W x + b + r * (U h + a)); h' = (1 - z) * n + z * h
// This is the gated unit whose reset comes after the matrix product: cuDNN's, PyTorch's and oneDNN's lbr_gru.
// Its bias `a` on the recurrent side may be left out. The blocks of W, U and b stand in the order of cuDNN:
// i, f, g, o and r, z, n; a is the last block of the bias.
enum class RecurrentCell : std::uint8_t { rnn, lstm, gru };

const char* name(RecurrentCell cell);
std::optional<RecurrentCell> find_cell(std::string_view name);
// Returns the number of gate blocks in the weights: 1, 4 or 3.
std::int64_t gates_of(RecurrentCell cell);

struct RecurrentAttrs {
  RecurrentCell cell = RecurrentCell::lstm;
  bool training = true;  // also makes what the gradient needs
};

// One layer over a whole sequence, from a state of zeros. With G = gates_of(cell):
// src (T, N, I), weight (G*H, I), recurrent_weight (G*H, H), bias (G*H), of gru also (4*H)
// -> dst (T, N, H) and, in training and but for rnn,
//    gates (T, N, G*H) after their activations, inner (T, N, H): the c' of lstm, the U h + a of gru's n
extern const graph::OpDef recurrent_op;

struct RecurrentGradAttrs {
  RecurrentCell cell = RecurrentCell::lstm;
  bool d_src = true;             // false: nobody wants it
  std::int64_t bias_blocks = 0;  // of d_bias: as many as there are gates, or 4 of gru
};
// (d_dst, src, weight, recurrent_weight, dst [, gates, inner])
// -> d_weight, d_recurrent_weight, d_bias [, d_src]
extern const graph::OpDef recurrent_grad_op;

struct RecurrentInputs {
  graph::ValueId src, weight, recurrent_weight, bias;
};
graph::ValueId recurrent(graph::Graph& graph, const std::string& name, const RecurrentInputs& inputs,
                         const RecurrentAttrs& attrs);

// table (V, E), ids (i32, any shape) -> dst (shape of ids, E): row ids[i] of the table. An id outside [0, V)
// makes its row NaN: a kernel cannot refuse, and nothing may be read out of bounds.
extern const graph::OpDef embedding_op;

struct EmbeddingGradAttrs {
  std::int64_t vocabulary = 0;  // rows of the table
};
// (d_dst, ids) -> d_table (V, E): for each row the sum over its occurrences, in their order whatever the
// number of threads. Ids outside [0, V) add nothing.
extern const graph::OpDef embedding_d_table_op;

graph::ValueId embedding(graph::Graph& graph, const std::string& name, graph::ValueId table,
                         graph::ValueId ids);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> recurrent_ops();

}  // namespace trainyard::ops
