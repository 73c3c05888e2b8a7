#include "ops/sequence/cached_attention.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/lane_sums.h"
#include "backend/onednn/runtime/vector_math.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {
namespace {

// One head of one new step: reads its keys and values once, and little else, so memory is what it waits for.
struct Head {
  const float *query, *keys, *values;
  std::int64_t head, stride, seen;
  float scale;
};

void attend(const Head& at, float* scores, float* dst) {
  float highest = -std::numeric_limits<float>::infinity();
  for (std::int64_t t = 0; t < at.seen; ++t) {
    scores[t] = at.scale * dot(at.query, at.keys + t * at.stride, at.head);
    highest = std::max(highest, scores[t]);
  }
  float total = 0;
  for (std::int64_t t = 0; t < at.seen; ++t) total += scores[t] = vector_exp(scores[t] - highest);
  std::fill_n(dst, at.head, 0.0f);
  for (std::int64_t t = 0; t < at.seen; ++t) {
    const float share = scores[t] / total, *value = at.values + t * at.stride;
#pragma omp simd
    for (std::int64_t i = 0; i < at.head; ++i) dst[i] += share * value[i];
  }
}

void run(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::CachedAttentionAttrs>();
  const Shape& cache = arguments.node.input_shape(1);
  const std::int64_t batch = cache[0], room = cache[1], of_cache = cache[2], head = of_cache / attrs.kv_heads,
                     width = arguments.node.input_shape(0)[1], out = attrs.heads * head,
                     position = arguments.input<std::int32_t>(3)[0];
  const float *qkv = arguments.input<float>(0), scale = 1 / std::sqrt(static_cast<float>(head));
  float *keys = arguments.state<float>(1), *values = arguments.state<float>(2),
        *dst = arguments.output<float>(0);
  for (std::int64_t s = 0; s < attrs.steps; ++s)
    for (std::int64_t n = 0; n < batch; ++n) {
      const std::int64_t step = position + s;
      if (step < 0 || step >= room) continue;
      const float* row = qkv + (s * batch + n) * width + out;
      std::copy_n(row, of_cache, keys + (n * room + step) * of_cache);
      std::copy_n(row + of_cache, of_cache, values + (n * room + step) * of_cache);
    }
  auto* scores = reinterpret_cast<float*>(arguments.memory.workspace);
  parallel_items(batch * attrs.heads, [&](std::int64_t item, int thread) {
    const std::int64_t n = item / attrs.heads, h = item % attrs.heads,
                       first = n * room * of_cache + h / (attrs.heads / attrs.kv_heads) * head;
    for (std::int64_t s = 0; s < attrs.steps; ++s) {
      const std::int64_t row = s * batch + n, step = position + s;
      float* to = dst + row * out + h * head;
      if (step < 0 || step >= room)
        std::fill_n(to, head, std::numeric_limits<float>::quiet_NaN());
      else
        attend({qkv + row * width + h * head, keys + first, values + first, head, of_cache, step + 1, scale},
               scores + thread * room, to);
    }
  });
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  Workspace workspace;
  workspace.add_floats(thread_count() * request.node.input_shape(1)[1]);
  io.workspace_bytes = workspace.bytes();
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run);
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

}  // namespace

std::vector<Candidate> cached_attention_candidates() {
  return {{&ops::cached_attention_op, "own:cached_attention", accept, make}};
}

}  // namespace trainyard::backend::onednn
