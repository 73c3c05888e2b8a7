#include "backend/cuda/loss/loss_kernels.h"
#include "backend/cuda/runtime/chunks.cuh"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

namespace {

template <typename T, int kGroup>
__global__ void __launch_bounds__(kThreads)
    softmax_rows(std::int64_t rows, std::int64_t classes, const T* src, T* dst) {
  using Group = RowGroup<kGroup>;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  const std::int64_t end = row < rows ? classes : 0;
  src += row * classes;
  dst += row * classes;
  float highest = -INFINITY, sum = 0;
  for (std::int64_t k = Group::lane(); k < end; k += kGroup) highest = fmaxf(highest, to_float(src[k]));
  highest = Group::max(highest);
  for (std::int64_t k = Group::lane(); k < end; k += kGroup) sum += expf(to_float(src[k]) - highest);
  sum = Group::sum(sum);
  for (std::int64_t k = Group::lane(); k < end; k += kGroup)
    dst[k] = from_float<T>(expf(to_float(src[k]) - highest) / sum);
}

template <typename T, int kGroup>
__global__ void __launch_bounds__(kThreads)
    softmax_grad_rows(std::int64_t rows, std::int64_t classes, const T* d_dst, const T* dst, T* d_src) {
  using Group = RowGroup<kGroup>;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  const std::int64_t end = row < rows ? classes : 0;
  const std::int64_t first = row * classes;
  float mean = 0;
  for (std::int64_t k = Group::lane(); k < end; k += kGroup)
    mean += to_float(d_dst[first + k]) * to_float(dst[first + k]);
  mean = Group::sum(mean);
  for (std::int64_t k = Group::lane(); k < end; k += kGroup)
    d_src[first + k] = from_float<T>(to_float(dst[first + k]) * (to_float(d_dst[first + k]) - mean));
}

}  // namespace

template <typename T>
void softmax(cudaStream_t stream, std::int64_t rows, std::int64_t classes, const T* src, T* dst) {
  with_row_groups(rows, classes, [&]<int kGroup>(int blocks) {
    softmax_rows<T, kGroup><<<blocks, kThreads, 0, stream>>>(rows, classes, src, dst);
  });
  check_launch("softmax");
}

template <typename T>
void softmax_grad(cudaStream_t stream, std::int64_t rows, std::int64_t classes, const T* d_dst, const T* dst,
                  T* d_src) {
  with_row_groups(rows, classes, [&]<int kGroup>(int blocks) {
    softmax_grad_rows<T, kGroup><<<blocks, kThreads, 0, stream>>>(rows, classes, d_dst, dst, d_src);
  });
  check_launch("softmax_grad");
}

template void softmax(cudaStream_t, std::int64_t, std::int64_t, const float*, float*);
template void softmax(cudaStream_t, std::int64_t, std::int64_t, const bf16*, bf16*);
template void softmax_grad(cudaStream_t, std::int64_t, std::int64_t, const float*, const float*, float*);
template void softmax_grad(cudaStream_t, std::int64_t, std::int64_t, const bf16*, const bf16*, bf16*);

namespace {

// The smoothed share of class k. A label that names no class makes the row NaN.
__device__ inline float target_at(const CrossEntropyLabels& labels, std::int64_t classes, std::int64_t row,
                                  std::int64_t k) {
  float label;
  if (labels.integers == nullptr) {
    label = labels.soft[row * classes + k];
  } else {
    const std::int32_t named = labels.integers[row];
    label = named < 0 || named >= classes ? NAN : named == k ? 1.0f : 0.0f;
  }
  return (1 - labels.smoothing) * label + labels.smoothing / static_cast<float>(classes);
}

template <typename T, int kGroup>
__device__ float row_loss(CrossEntropyShape shape, std::int64_t row, const T* logits,
                          const CrossEntropyLabels& labels, float* probabilities, T* d_logits) {
  using Group = RowGroup<kGroup>;
  const std::int64_t end = row < shape.rows ? shape.classes : 0;
  logits += row * shape.classes;
  probabilities += row * shape.classes;
  float highest = -INFINITY, sum = 0, loss = 0;
  for (std::int64_t k = Group::lane(); k < end; k += kGroup) highest = fmaxf(highest, to_float(logits[k]));
  highest = Group::max(highest);
  for (std::int64_t k = Group::lane(); k < end; k += kGroup) sum += expf(to_float(logits[k]) - highest);
  const float log_sum = logf(Group::sum(sum));
  for (std::int64_t k = Group::lane(); k < end; k += kGroup) {
    const float log_probability = to_float(logits[k]) - highest - log_sum;
    const float probability = expf(log_probability);
    const float target = target_at(labels, shape.classes, row, k);
    probabilities[k] = probability;
    if (d_logits != nullptr)
      d_logits[row * shape.classes + k] =
          from_float<T>((probability - target) / static_cast<float>(shape.rows));
    if (target != 0) loss -= target * log_probability;
  }
  return Group::sum(loss);
}

template <typename T, int kGroup>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_rows(CrossEntropyShape shape, const T* logits, CrossEntropyLabels labels, float* loss,
                       float* probabilities, T* d_logits, float* row_losses, std::uint32_t* counter) {
  using Group = RowGroup<kGroup>;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  const float made = row_loss<T, kGroup>(shape, row, logits, labels, probabilities, d_logits);
  if (row < shape.rows && Group::lane() == 0) row_losses[row] = made;
  if (!is_last_block(counter)) return;
  const float sum = sum_in_order(row_losses, shape.rows);
  if (threadIdx.x == 0) *loss = sum / static_cast<float>(shape.rows);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_grad(CrossEntropyShape shape, const float* d_loss, const float* probabilities,
                       CrossEntropyLabels labels, T* d_logits) {
  const float d_row = *d_loss / static_cast<float>(shape.rows);
  const std::int64_t elements = shape.rows * shape.classes;
  for (auto at = static_cast<std::int64_t>(thread_index()) * 4; at < elements;
       at += static_cast<std::int64_t>(thread_count()) * 4) {
    float quad[4];
    load_quad(probabilities, at, elements, quad);
    std::int64_t row = at / shape.classes, k = at - row * shape.classes;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (at + i >= elements) break;
      quad[i] = d_row * (quad[i] - target_at(labels, shape.classes, row, k));
      if (++k == shape.classes) {
        k = 0;
        ++row;
      }
    }
    store_quad(d_logits, at, elements, quad);
  }
}

}  // namespace

template <typename T>
void softmax_cross_entropy(cudaStream_t stream, CrossEntropyShape shape, const T* logits,
                           const CrossEntropyLabels& labels, float* loss, float* probabilities, T* d_logits,
                           float* row_losses, std::uint32_t* counter) {
  with_row_groups(shape.rows, shape.classes, [&]<int kGroup>(int blocks) {
    cross_entropy_rows<T, kGroup><<<blocks, kThreads, 0, stream>>>(shape, logits, labels, loss, probabilities,
                                                                   d_logits, row_losses, counter);
  });
  check_launch("softmax_cross_entropy");
}

template <typename T>
void softmax_cross_entropy_grad(cudaStream_t stream, CrossEntropyShape shape, const float* d_loss,
                                const float* probabilities, const CrossEntropyLabels& labels, T* d_logits) {
  const auto quads = static_cast<std::size_t>(shape.rows * shape.classes + 3) / 4;
  cross_entropy_grad<<<grid_for(quads, 64), 64, 0, stream>>>(shape, d_loss, probabilities, labels, d_logits);
  check_launch("softmax_cross_entropy_grad");
}

template void softmax_cross_entropy(cudaStream_t, CrossEntropyShape, const float*, const CrossEntropyLabels&,
                                    float*, float*, float*, float*, std::uint32_t*);
template void softmax_cross_entropy(cudaStream_t, CrossEntropyShape, const bf16*, const CrossEntropyLabels&,
                                    float*, float*, bf16*, float*, std::uint32_t*);
template void softmax_cross_entropy_grad(cudaStream_t, CrossEntropyShape, const float*, const float*,
                                         const CrossEntropyLabels&, float*);
template void softmax_cross_entropy_grad(cudaStream_t, CrossEntropyShape, const float*, const float*,
                                         const CrossEntropyLabels&, bf16*);

}  // namespace trainyard::backend::cuda::device
