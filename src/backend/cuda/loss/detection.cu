#include "backend/cuda/loss/detection_kernels.h"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

using ops::AnchorTarget;

static_assert(PartialSums::kMostParts >= kMaxBlocks);

// Puts the sum over all threads of all blocks where *dst is, by finish(sum).
template <typename Finish>
__device__ inline void add_up(float of_thread, const PartialSums& sums, const Finish& finish) {
  __shared__ float scratch[32];
  const float of_block = block_sum(of_thread, scratch);
  if (threadIdx.x == 0) sums.parts[blockIdx.x] = of_block;
  if (!is_last_block(sums.counter)) return;
  const float all = sum_in_order(sums.parts, gridDim.x);
  if (threadIdx.x == 0) finish(all);
}

template <typename Word>
__global__ void __launch_bounds__(kThreads) copy_words(BlockCopy blocks, const Word* src, Word* dst) {
  const std::int64_t size = sizeof(Word), words = blocks.bytes / size;
  for (std::int64_t i = thread_index(); i < blocks.images * words; i += thread_count()) {
    const std::int64_t image = i / words, word = i % words;
    dst[image * (blocks.dst_stride / size) + word] = src[image * (blocks.src_stride / size) + word];
  }
}

__global__ void __launch_bounds__(kThreads) match(MatchAnchors at, PartialSums sums) {
  const std::int64_t of_image = at.anchors.count(), rows = at.images * of_image;
  float found = 0;
  for (std::int64_t row = thread_index(); row < rows; row += thread_count()) {
    const AnchorTarget target = ops::match_anchor(
        at.anchors.box(row % of_image), at.boxes + row / of_image * at.most * ops::kBoxNumbers, at.most);
    at.labels[row] = target.label;
    for (int i = 0; i < 4; ++i) at.targets[4 * row + i] = static_cast<float>(target.offsets[i]);
    found += target.label >= 0 ? 1.0f : 0.0f;
  }
  add_up(found, sums, [&](float all) { *at.share = 1 / fmaxf(all, 1.0f); });
}

// The loss of one number and its derivative; u is one less the probability of what is right.
struct Focal {
  float loss, d_logit;

  __device__ Focal(float logit, bool right, float alpha, float gamma) {
    const float z = right ? logit : -logit, a = right ? alpha : 1 - alpha, e = expf(-fabsf(z)),
                minus_log = fmaxf(-z, 0.0f) + log1pf(e), u = (z > 0 ? e : 1.0f) / (1 + e),
                power = a * (gamma == 2 ? u * u : powf(u, gamma));
    loss = power * minus_log;
    d_logit = (right ? -power : power) * (gamma * (1 - u) * minus_log + u);
  }
};

template <typename T>
__device__ inline Focal focal_at(const FocalLoss<T>& at, std::int64_t i, std::int32_t label) {
  return {to_float(at.logits[i]), label == i % at.classes, at.alpha, at.gamma};
}

template <typename T>
__global__ void __launch_bounds__(kThreads) focal(FocalLoss<T> at, float* loss, PartialSums sums) {
  float sum = 0;
  for (std::int64_t i = thread_index(); i < at.rows * at.classes; i += thread_count()) {
    const std::int32_t label = at.labels[i / at.classes];
    if (label >= at.classes) sum = NAN;
    if (label != AnchorTarget::kPassedOver) sum += focal_at(at, i, label).loss;
  }
  add_up(sum, sums, [&](float all) { *loss = all * *at.share; });
}

template <typename T>
__global__ void __launch_bounds__(kThreads) focal_grad(FocalLoss<T> at, const float* d_loss, T* d_logits) {
  const float scale = *d_loss * *at.share;
  for (std::int64_t i = thread_index(); i < at.rows * at.classes; i += thread_count()) {
    const std::int32_t label = at.labels[i / at.classes];
    const float d_logit = focal_at(at, i, label).d_logit;
    d_logits[i] = from_float<T>(label == AnchorTarget::kPassedOver ? 0.0f : scale * d_logit);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) box(BoxLoss<T> at, float* loss, PartialSums sums) {
  float sum = 0;
  for (std::int64_t i = thread_index(); i < 4 * at.rows; i += thread_count()) {
    if (at.labels[i / 4] < 0) continue;
    const float d = fabsf(to_float(at.offsets[i]) - at.targets[i]);
    sum += d < at.beta ? d * d / (2 * at.beta) : d - at.beta / 2;
  }
  add_up(sum, sums, [&](float all) { *loss = all * *at.share; });
}

template <typename T>
__global__ void __launch_bounds__(kThreads) box_grad(BoxLoss<T> at, const float* d_loss, T* d_offsets) {
  const float scale = *d_loss * *at.share;
  for (std::int64_t i = thread_index(); i < 4 * at.rows; i += thread_count()) {
    const float d = (to_float(at.offsets[i]) - at.targets[i]) / at.beta;
    d_offsets[i] = from_float<T>(at.labels[i / 4] < 0 ? 0.0f : scale * fminf(fmaxf(d, -1.0f), 1.0f));
  }
}

}  // namespace

void copy_blocks(cudaStream_t stream, const BlockCopy& blocks, const std::byte* src, std::byte* dst) {
  const std::int64_t word =
      word_bytes(blocks.bytes, blocks.src_stride, blocks.dst_stride, reinterpret_cast<std::uintptr_t>(src),
                 reinterpret_cast<std::uintptr_t>(dst));
  with_word(word, [&](auto of_word) {
    using Word = decltype(of_word);
    copy_words<<<grid_for(blocks.images * blocks.bytes / word), kThreads, 0, stream>>>(
        blocks, reinterpret_cast<const Word*>(src), reinterpret_cast<Word*>(dst));
  });
  check_launch("copy_blocks");
}

void match_anchors(cudaStream_t stream, const MatchAnchors& at, const PartialSums& sums) {
  match<<<grid_for(at.images * at.anchors.count()), kThreads, 0, stream>>>(at, sums);
  check_launch("match_anchors");
}

template <typename T>
void focal_loss(cudaStream_t stream, const FocalLoss<T>& at, float* loss, const PartialSums& sums) {
  focal<<<grid_for(at.rows * at.classes), kThreads, 0, stream>>>(at, loss, sums);
  check_launch("focal_loss");
}

template <typename T>
void focal_loss_grad(cudaStream_t stream, const FocalLoss<T>& at, const float* d_loss, T* d_logits) {
  focal_grad<<<grid_for(at.rows * at.classes), kThreads, 0, stream>>>(at, d_loss, d_logits);
  check_launch("focal_loss_grad");
}

template <typename T>
void box_loss(cudaStream_t stream, const BoxLoss<T>& at, float* loss, const PartialSums& sums) {
  box<<<grid_for(4 * at.rows), kThreads, 0, stream>>>(at, loss, sums);
  check_launch("box_loss");
}

template <typename T>
void box_loss_grad(cudaStream_t stream, const BoxLoss<T>& at, const float* d_loss, T* d_offsets) {
  box_grad<<<grid_for(4 * at.rows), kThreads, 0, stream>>>(at, d_loss, d_offsets);
  check_launch("box_loss_grad");
}

template void focal_loss(cudaStream_t, const FocalLoss<float>&, float*, const PartialSums&);
template void focal_loss(cudaStream_t, const FocalLoss<bf16>&, float*, const PartialSums&);
template void focal_loss_grad(cudaStream_t, const FocalLoss<float>&, const float*, float*);
template void focal_loss_grad(cudaStream_t, const FocalLoss<bf16>&, const float*, bf16*);
template void box_loss(cudaStream_t, const BoxLoss<float>&, float*, const PartialSums&);
template void box_loss(cudaStream_t, const BoxLoss<bf16>&, float*, const PartialSums&);
template void box_loss_grad(cudaStream_t, const BoxLoss<float>&, const float*, float*);
template void box_loss_grad(cudaStream_t, const BoxLoss<bf16>&, const float*, bf16*);

}  // namespace trainyard::backend::cuda::device
