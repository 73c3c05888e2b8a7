#pragma once

#include "graph/op_def.h"
#include "ops/elementwise.h"
#include "ops/window.h"

namespace trainyard::ops {

struct Conv2dAttrs {
  Window2d window;
  std::int64_t groups = 1;
  ActivationAttrs activation{Activation::none};  // set by the fusion pass
};

// src (N, C, H, W), weight (O, C / groups, kh, kw), bias (O) or none -> dst (N, O, h, w)
extern const graph::OpDef conv2d_op;

struct Conv2dGradAttrs {
  Conv2dAttrs conv;
  Shape shape;        // of the gradient to make: src, or weight
  bool bias = false;  // d_weight only: also make d_bias
};
extern const graph::OpDef conv2d_d_src_op;     // (d_dst, weight) -> d_src
extern const graph::OpDef conv2d_d_weight_op;  // (d_dst, src) -> d_weight [, d_bias]

// Returns the gradient of a convolution's source as an op of its own: the transposed convolution of src (N,
// O, h, w) by weight (O, C / groups, kh, kw) -> dst, an image of this height and width.
graph::ValueId conv2d_transposed(graph::Graph& graph, const std::string& name, graph::ValueId src,
                                 graph::ValueId weight, const Conv2dAttrs& attrs, std::int64_t height,
                                 std::int64_t width);

// bias may be graph::kNone.
graph::ValueId conv2d(graph::Graph& graph, const std::string& name, graph::ValueId src, graph::ValueId weight,
                      graph::ValueId bias, const Conv2dAttrs& attrs);

// Describes a convolution and the max pool behind it as one node. The fusion pass makes it where a kernel can
// keep the intermediate image out of memory.
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

// Returns the shape of the intermediate image between convolution and pool.
Shape convolved_shape(const Conv2dMaxPoolAttrs& attrs, const Shape& src, const Shape& weight);

// The lists name every op above, by source, for the registry.
std::vector<const graph::OpDef*> conv2d_ops();
std::vector<const graph::OpDef*> conv2d_max_pool_ops();

}  // namespace trainyard::ops
