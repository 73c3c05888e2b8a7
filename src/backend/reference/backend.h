#pragma once

#include "backend/kernel.h"

namespace trainyard::backend::reference {

// Every kernel takes plain layout and accepts anything. `in_place`: the inputs in whose memory output 0 may
// lie.
inline Decision always(const KernelRequest&) { return Decision::yes(); }

template <KernelFunction function, int... in_place>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.in_place = {std::pair<int, int>{0, in_place}...};
  return std::make_unique<FunctionKernel>(request.node, std::move(io), function);
}

// Runs body.operator()<T>() with T = float or double.
template <typename Body>
void with_float_type(DType dtype, const Body& body) {
  TRAINYARD_CHECK(dtype == DType::f32 || dtype == DType::f64);
  if (dtype == DType::f32) return body.template operator()<float>();
  body.template operator()<double>();
}

// Returns the kernels of each file: one function an op, whose sums are made in double.
std::vector<Candidate> attention_candidates();
std::vector<Candidate> broadcast_candidates();
std::vector<Candidate> cached_attention_candidates();
std::vector<Candidate> conv2d_candidates();
std::vector<Candidate> dense_candidates();
std::vector<Candidate> detection_candidates();
std::vector<Candidate> elementwise_candidates();
std::vector<Candidate> experts_candidates();
std::vector<Candidate> gated_graph_conv_candidates();
std::vector<Candidate> grouped_dense_candidates();
std::vector<Candidate> layer_norm_candidates();
std::vector<Candidate> loss_candidates();
std::vector<Candidate> matmul_candidates();
std::vector<Candidate> norm_candidates();
std::vector<Candidate> pointwise_candidates();
std::vector<Candidate> pool_candidates();
std::vector<Candidate> position_candidates();
std::vector<Candidate> recurrent_candidates();
std::vector<Candidate> resize_candidates();
std::vector<Candidate> set2set_candidates();
std::vector<Candidate> shape_candidates();
std::vector<Candidate> smooth_unit_candidates();
std::vector<Candidate> update_candidates();

// Plain loops for every op: the executable specification, and the last resort of other backends.
const std::vector<Candidate>& candidates();

// Copies element by element through both layouts.
std::unique_ptr<Kernel> make_reorder(const graph::TensorType& type, const Layout& from, const Layout& to);

}  // namespace trainyard::backend::reference
