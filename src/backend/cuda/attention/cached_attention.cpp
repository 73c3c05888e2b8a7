#include "ops/sequence/cached_attention.h"

#include "backend/cuda/attention/cached_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

void cached_attention(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::CachedAttentionAttrs>();
  const Shape &qkv = at.node.input_shape(0), &cache = at.node.input_shape(1);
  const std::int64_t head = cache[2] / attrs.kv_heads;
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::cached_attention<T>(at.stream(),
                                {.steps = static_cast<int>(attrs.steps),
                                 .sequences = static_cast<int>(qkv[0] / attrs.steps),
                                 .heads = static_cast<int>(attrs.heads),
                                 .kv_heads = static_cast<int>(attrs.kv_heads),
                                 .head_size = static_cast<int>(head),
                                 .room = cache[1],
                                 .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head))),
                                 .position = at.input<std::int32_t>(3)},
                                at.input<T>(0), at.state<float>(1), at.state<float>(2), at.output<T>(0));
  });
}

Decision accept(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<ops::CachedAttentionAttrs>();
  if (request.node.input_shape(1)[2] / attrs.kv_heads > ops::kLargestHead)
    return Decision::no("heads have more than 256 numbers");
  return want_device_floats(request);
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), cached_attention);
}

}  // namespace

std::vector<Candidate> cached_attention_candidates() {
  return {{&ops::cached_attention_op, "own:cached_attention", accept, make}};
}

}  // namespace trainyard::backend::cuda
