#pragma once

#include "predict/kernels/kernel_shape.h"

namespace trainyard::predict {

// LayerSizes describes a layer, the same for all of its kernels: `outputs` channels at each position, from
// `inputs` channels.
struct LayerSizes {
  double batch = 1, area = 1;  // positions of one sample
  double outputs = 1, inputs = 1, window = 1, groups = 1;
  double side = 1;  // rows of one sample
  bool strided = false, oblong = false;
  bool pooled = false;  // a maximum over small windows follows, which the same kernel may take
  double bytes = 0;     // of what is no product
};

ShapePlace place_of(const LayerSizes& layer);

inline double number(std::int64_t value) { return static_cast<double>(value); }
double doublings(double value);  // 0 up to 1

// Describes a node of an op on rows of vectors, as networks on sequences and patches are made of, and returns
// whether it is one. Products of matrices and attention get flops and sizes of the product; others, such as
// norms, units, positions, embeddings and losses over a vocabulary, have only bytes.
bool take_sequence_op(const graph::NodeView& view, double bytes, KernelShape& shape);

}  // namespace trainyard::predict
