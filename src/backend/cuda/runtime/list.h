#pragma once

#include <vector>

#include "backend/kernel.h"

namespace trainyard::backend::cuda {

// Each function returns the candidates of one file, best first where that is known without measuring.
std::vector<Candidate> activation_candidates();
std::vector<Candidate> add_candidates();
std::vector<Candidate> average_pool_candidates();
std::vector<Candidate> batch_norm_candidates();
std::vector<Candidate> cast_candidates();
std::vector<Candidate> classify_candidates();
std::vector<Candidate> concat_candidates();
std::vector<Candidate> conv2d_candidates();
std::vector<Candidate> conv2d_few_channels_candidates();
std::vector<Candidate> conv2d_max_pool_candidates();
std::vector<Candidate> conv2d_padded_candidates();
std::vector<Candidate> conv2d_small_images_candidates();
std::vector<Candidate> dense_candidates();
std::vector<Candidate> dense_chain_candidates();
std::vector<Candidate> dense_narrow_candidates();
std::vector<Candidate> dense_update_candidates();
std::vector<Candidate> dropout_candidates();
std::vector<Candidate> embedding_candidates();
std::vector<Candidate> fill_candidates();
std::vector<Candidate> l2_penalty_candidates();
std::vector<Candidate> local_response_norm_candidates();
std::vector<Candidate> max_pool_candidates();
std::vector<Candidate> multiply_candidates();
std::vector<Candidate> pad_candidates();
std::vector<Candidate> recurrent_candidates();
std::vector<Candidate> reshape_candidates();
std::vector<Candidate> scale_candidates();
std::vector<Candidate> sequence_cross_entropy_candidates();
std::vector<Candidate> slice_candidates();
std::vector<Candidate> softmax_candidates();
std::vector<Candidate> softmax_cross_entropy_candidates();
std::vector<Candidate> update_candidates();

// Returns the candidates of all files; cuda/backend.cpp joins them.
std::vector<Candidate> all_candidates();

}  // namespace trainyard::backend::cuda
