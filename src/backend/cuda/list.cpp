#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {

std::vector<Candidate> all_candidates() {
  std::vector<Candidate> all;
  for (const auto candidates_of : {
           activation_candidates,
           add_candidates,
           batch_norm_candidates,
           cast_candidates,
           conv2d_candidates,
           conv2d_few_channels_candidates,
           dense_candidates,
           dropout_candidates,
           fill_candidates,
           local_response_norm_candidates,
           max_pool_candidates,
           multiply_candidates,
           scale_candidates,
           softmax_candidates,
           softmax_cross_entropy_candidates,
           update_candidates,
       })
    for (const Candidate& candidate : candidates_of()) all.push_back(candidate);
  return all;
}

}  // namespace trainyard::backend::cuda
