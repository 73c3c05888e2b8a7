#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {

std::vector<Candidate> all_candidates() {
  std::vector<Candidate> all;
  for (const auto candidates_of : {
           activation_candidates,
           add_candidates,
           average_pool_candidates,
           batch_norm_candidates,
           cast_candidates,
           classify_candidates,
           concat_candidates,
           conv2d_candidates,
           conv2d_few_channels_candidates,
           conv2d_max_pool_candidates,
           conv2d_padded_candidates,
           conv2d_small_images_candidates,
           dense_candidates,
           dense_chain_candidates,
           dense_narrow_candidates,
           dense_update_candidates,
           dropout_candidates,
           embedding_candidates,
           fill_candidates,
           l2_penalty_candidates,
           local_response_norm_candidates,
           max_pool_candidates,
           multiply_candidates,
           pad_candidates,
           recurrent_candidates,
           reshape_candidates,
           scale_candidates,
           sequence_cross_entropy_candidates,
           slice_candidates,
           softmax_candidates,
           softmax_cross_entropy_candidates,
           update_candidates,
       })
    for (const Candidate& candidate : candidates_of()) all.push_back(candidate);
  return all;
}

}  // namespace trainyard::backend::cuda
