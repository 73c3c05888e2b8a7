#include "ops/registry.h"

#include "ops/activation.h"
#include "ops/add.h"
#include "ops/average_pool.h"
#include "ops/batch_norm.h"
#include "ops/cast.h"
#include "ops/classify.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/conv2d_max_pool.h"
#include "ops/dense.h"
#include "ops/dense_chain.h"
#include "ops/dense_update.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/fill.h"
#include "ops/gated_graph_conv.h"
#include "ops/l2_penalty.h"
#include "ops/local_response_norm.h"
#include "ops/max_pool.h"
#include "ops/multiply.h"
#include "ops/pad.h"
#include "ops/recurrent.h"
#include "ops/reshape.h"
#include "ops/scale.h"
#include "ops/sequence_cross_entropy.h"
#include "ops/set2set.h"
#include "ops/slice.h"
#include "ops/softmax.h"
#include "ops/softmax_cross_entropy.h"
#include "ops/update.h"

namespace trainyard::ops {

const std::vector<const graph::OpDef*>& all_ops() {
  static const std::vector<const graph::OpDef*> rows{
      &conv2d_op,
      &conv2d_d_src_op,
      &conv2d_d_weight_op,
      &conv2d_max_pool_op,
      &conv2d_max_pool_d_weight_op,
      &dense_op,
      &dense_d_src_op,
      &dense_d_weight_op,
      &dense_chain_op,
      &dense_chain_d_src_op,
      &dense_chain_d_weight_op,
      &dense_update_op,
      &max_pool_op,
      &max_pool_d_src_op,
      &average_pool_op,
      &average_pool_d_src_op,
      &batch_norm_op,
      &batch_norm_grad_op,
      &local_response_norm_op,
      &local_response_norm_grad_op,
      &activation_op,
      &activation_grad_op,
      &add_op,
      &multiply_op,
      &scale_op,
      &cast_op,
      &classify_op,
      &concat_op,
      &slice_op,
      &pad_op,
      &reshape_op,
      &dropout_op,
      &softmax_op,
      &softmax_grad_op,
      &softmax_cross_entropy_op,
      &softmax_cross_entropy_grad_op,
      &embedding_op,
      &embedding_d_table_op,
      &recurrent_op,
      &recurrent_grad_op,
      &gated_graph_conv_op,
      &gated_graph_conv_grad_op,
      &set2set_op,
      &set2set_grad_op,
      &sequence_cross_entropy_op,
      &sequence_cross_entropy_grad_op,
      &l2_penalty_op,
      &l2_penalty_grad_op,
      &fill_op,
      &update_op,
  };
  return rows;
}

}  // namespace trainyard::ops
