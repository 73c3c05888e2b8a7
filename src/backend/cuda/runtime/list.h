#pragma once

#include "backend/kernel.h"

namespace trainyard::backend::cuda {

// Each returns the kernels of one file, or of one purpose, best first where that is known without measuring.
std::vector<Candidate> attention_candidates();
std::vector<Candidate> batch_matmul_candidates();
std::vector<Candidate> broadcast_candidates();
std::vector<Candidate> cached_attention_candidates();
std::vector<Candidate> conv2d_candidates();
std::vector<Candidate> conv2d_few_channels_candidates();
std::vector<Candidate> conv2d_padded_candidates();
std::vector<Candidate> conv2d_small_images_candidates();
std::vector<Candidate> cudnn_attention_candidates();
std::vector<Candidate> dense_candidates();
std::vector<Candidate> dense_chain_candidates();
std::vector<Candidate> dense_padded_candidates();
std::vector<Candidate> dense_whole_rows_candidates();
std::vector<Candidate> detection_candidates();
std::vector<Candidate> elementwise_candidates();
std::vector<Candidate> embedding_candidates();
std::vector<Candidate> experts_candidates();
std::vector<Candidate> grouped_dense_candidates();
std::vector<Candidate> layer_norm_candidates();
std::vector<Candidate> loss_candidates();
std::vector<Candidate> norm_candidates();
std::vector<Candidate> pool_candidates();
std::vector<Candidate> position_candidates();
std::vector<Candidate> recurrent_candidates();
std::vector<Candidate> shape_candidates();
std::vector<Candidate> smooth_unit_candidates();
std::vector<Candidate> update_candidates();

// Returns the candidates of all files; cuda/backend.cpp joins them.
std::vector<Candidate> all_candidates();

}  // namespace trainyard::backend::cuda
