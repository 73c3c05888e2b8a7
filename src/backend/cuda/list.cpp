#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {

std::vector<Candidate> all_candidates() {
  std::vector<Candidate> all;
  for (const auto candidates_of :
       {activation_candidates, batch_norm_candidates, conv2d_few_channels_candidates})
    for (const Candidate& candidate : candidates_of()) all.push_back(candidate);
  return all;
}

}  // namespace trainyard::backend::cuda
