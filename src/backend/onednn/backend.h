#pragma once

#include "backend/backend.h"

// Each *_candidates() returns the candidates of one file, best first; all_candidates() in backend.cpp joins
// them.
namespace trainyard::backend::onednn {

// Returns the candidates of all files, best first within one op.
std::vector<Candidate> all_candidates();

// Makes a backend with the kernels of the KernelLevel that calls it.
std::unique_ptr<Backend> make_backend_of_level();

std::vector<GemmPeak> measure_gemm_peaks(const std::vector<std::string>& precisions, double seconds);

std::vector<Candidate> attention_candidates();
std::vector<Candidate> attention_grad_candidates();
std::vector<Candidate> batch_norm_candidates();
std::vector<Candidate> broadcast_candidates();
std::vector<Candidate> cached_attention_candidates();
std::vector<Candidate> conv2d_candidates();
std::vector<Candidate> conv2d_few_channels_candidates();
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

}  // namespace trainyard::backend::onednn
