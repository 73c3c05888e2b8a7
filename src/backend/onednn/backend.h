#pragma once

#include <vector>

#include "backend/backend.h"

// Each *_candidates() returns the candidates of one file, best first; all_candidates() in backend.cpp joins
// them.
namespace trainyard::backend::onednn {

// Returns the candidates of all files, best first within one op.
std::vector<Candidate> all_candidates();

// Makes a backend with the kernels of the KernelLevel that calls it.
std::unique_ptr<Backend> make_backend_of_level();

std::vector<GemmPeak> measure_gemm_peaks(const std::vector<std::string>& precisions, double seconds);

std::vector<Candidate> activation_candidates();
std::vector<Candidate> add_candidates();
std::vector<Candidate> average_pool_candidates();
std::vector<Candidate> batch_norm_candidates();
std::vector<Candidate> concat_candidates();
std::vector<Candidate> conv2d_candidates();
std::vector<Candidate> conv2d_few_channels_candidates();
std::vector<Candidate> dense_candidates();
std::vector<Candidate> dropout_candidates();
std::vector<Candidate> embedding_candidates();
std::vector<Candidate> l2_penalty_candidates();
std::vector<Candidate> local_response_norm_candidates();
std::vector<Candidate> max_pool_candidates();
std::vector<Candidate> multiply_candidates();
std::vector<Candidate> pad_candidates();
std::vector<Candidate> recurrent_candidates();
std::vector<Candidate> gated_graph_conv_candidates();
std::vector<Candidate> set2set_candidates();
std::vector<Candidate> scale_candidates();
std::vector<Candidate> sequence_cross_entropy_candidates();
std::vector<Candidate> slice_candidates();
std::vector<Candidate> softmax_cross_entropy_candidates();
std::vector<Candidate> update_candidates();

}  // namespace trainyard::backend::onednn
