#pragma once

#include <vector>

#include "backend/kernel.h"

namespace trainyard::backend::reference {

// One function an op, each in the file of its op. All tensors lie in plain layout; sums are made in double.
void activation(const Arguments& args);
void activation_grad(const Arguments& args);
void add(const Arguments& args);
void average_pool(const Arguments& args);
void average_pool_d_src(const Arguments& args);
void batch_norm(const Arguments& args);
void batch_norm_grad(const Arguments& args);
void cast(const Arguments& args);
void classify(const Arguments& args);
void concat(const Arguments& args);
void conv2d(const Arguments& args);
void conv2d_d_src(const Arguments& args);
void conv2d_d_weight(const Arguments& args);
void conv2d_max_pool(const Arguments& args);
void conv2d_max_pool_d_weight(const Arguments& args);
void dense(const Arguments& args);
void dense_d_src(const Arguments& args);
void dense_d_weight(const Arguments& args);
void dense_chain(const Arguments& args);
void dense_chain_d_src(const Arguments& args);
void dense_chain_d_weight(const Arguments& args);
void dense_update(const Arguments& args);
void dropout(const Arguments& args);
void embedding(const Arguments& args);
void embedding_d_table(const Arguments& args);
void fill(const Arguments& args);
void gated_graph_conv(const Arguments& args);
void gated_graph_conv_grad(const Arguments& args);
void l2_penalty(const Arguments& args);
void l2_penalty_grad(const Arguments& args);
void local_response_norm(const Arguments& args);
void local_response_norm_grad(const Arguments& args);
void max_pool(const Arguments& args);
void max_pool_d_src(const Arguments& args);
void multiply(const Arguments& args);
void pad(const Arguments& args);
void recurrent(const Arguments& args);
void recurrent_grad(const Arguments& args);
void reshape(const Arguments& args);
void scale(const Arguments& args);
void sequence_cross_entropy(const Arguments& args);
void sequence_cross_entropy_grad(const Arguments& args);
void set2set(const Arguments& args);
void set2set_grad(const Arguments& args);
void slice(const Arguments& args);
void softmax(const Arguments& args);
void softmax_grad(const Arguments& args);
void softmax_cross_entropy(const Arguments& args);
void softmax_cross_entropy_grad(const Arguments& args);
void update(const Arguments& args);

// Runs body.operator()<T>() with T = float or double.
template <typename Body>
void with_float_type(DType dtype, const Body& body) {
  TRAINYARD_CHECK(dtype == DType::f32 || dtype == DType::f64);
  if (dtype == DType::f32) return body.template operator()<float>();
  body.template operator()<double>();
}

// Plain loops for every op: the executable specification, and the last resort of other backends.
const std::vector<Candidate>& candidates();

// Copies element by element through both layouts.
std::unique_ptr<Kernel> make_reorder(const graph::TensorType& type, const Layout& from, const Layout& to);

}  // namespace trainyard::backend::reference
