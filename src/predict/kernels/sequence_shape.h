#pragma once

#include "predict/kernels/layer_sizes.h"

namespace trainyard::predict {

// Describes a node of an op on rows of vectors, as networks on sequences and patches are made of, and returns
// whether it is one. Products of matrices and attention get flops and sizes of the product; others, such as
// norms, units, positions, embeddings and losses over a vocabulary, have only bytes.
bool take_sequence_op(const graph::NodeView& view, double bytes, KernelShape& shape);

}  // namespace trainyard::predict
