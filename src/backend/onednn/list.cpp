#include "backend/onednn/list.h"

namespace trainyard::backend::onednn {

std::vector<Candidate> all_candidates() {
  std::vector<Candidate> all;
  for (const auto& candidates : {conv2d_few_channels_candidates(),
                                 conv2d_candidates(),
                                 dense_candidates(),
                                 max_pool_candidates(),
                                 average_pool_candidates(),
                                 batch_norm_candidates(),
                                 local_response_norm_candidates(),
                                 activation_candidates(),
                                 add_candidates(),
                                 multiply_candidates(),
                                 scale_candidates(),
                                 concat_candidates(),
                                 slice_candidates(),
                                 pad_candidates(),
                                 dropout_candidates(),
                                 softmax_cross_entropy_candidates(),
                                 embedding_candidates(),
                                 recurrent_candidates(),
                                 gated_graph_conv_candidates(),
                                 set2set_candidates(),
                                 sequence_cross_entropy_candidates(),
                                 l2_penalty_candidates(),
                                 update_candidates()})
    all.insert(all.end(), candidates.begin(), candidates.end());
  return all;
}

}  // namespace trainyard::backend::onednn
