#pragma once

#include "graph/op_def.h"
#include "ops/conv2d.h"
#include "ops/window.h"

namespace trainyard::ops {

// A convolution and the max pool behind it in one; made by the fusion pass where a kernel can keep what lies
// between the two out of memory.
struct Conv2dMaxPoolAttrs {
  Conv2dAttrs conv;
  Window2d pool;
};

// (src, weight [, bias]) -> pooled dst, choice (u8, as max_pool's)
extern const graph::OpDef conv2d_max_pool_op;

struct Conv2dMaxPoolGradAttrs {
  Conv2dMaxPoolAttrs forward;
  Shape weight;
  bool bias = false;         // also make d_bias
  bool mask_by_dst = false;  // as MaxPoolGradAttrs: dst becomes the last input
};
// (d_dst, choice, src [, dst]) -> d_weight [, d_bias]
extern const graph::OpDef conv2d_max_pool_d_weight_op;

// Shape of what lies between convolution and pool.
Shape convolved_shape(const Conv2dMaxPoolAttrs& attrs, const Shape& src, const Shape& weight);

}  // namespace trainyard::ops
