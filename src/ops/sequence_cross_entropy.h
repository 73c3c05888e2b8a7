#pragma once

#include "graph/op_def.h"
#include "ops/softmax_cross_entropy.h"

namespace trainyard::ops {

// logits (T, N, V), or (T*N, V) as a dense layer leaves them, labels (i32 T, N), lengths (i32 N) -> loss
// (scalar), probabilities (as the logits), both in f32 when the logits are bf16. Step t of sequence n counts
// where t < lengths[n]. The loss is the sum of the cross-entropies that count over the number of them, zero
// where none does; probabilities are zero at steps that do not count, so that nobody has to make them.
extern const graph::OpDef sequence_cross_entropy_op;
// (d_loss, probabilities, labels, lengths) -> d_logits: zero at steps that do not count
extern const graph::OpDef sequence_cross_entropy_grad_op;

LossAndProbabilities sequence_cross_entropy(graph::Graph& graph, const std::string& name,
                                            graph::ValueId logits, graph::ValueId labels,
                                            graph::ValueId lengths);

}  // namespace trainyard::ops
