#include "backend/cuda/device/sequence_cross_entropy.h"

#include "backend/cuda/device/last_block.cuh"
#include "backend/cuda/device/rows.cuh"

namespace trainyard::backend::cuda::device {
namespace {

__device__ inline bool counts(const SequenceShape& shape, const SequenceLabels& labels, std::int64_t row) {
  return row / shape.batch < labels.lengths[row % shape.batch];
}

// One over the number of steps that count, 0 where none does; by all threads of a block.
__device__ inline float share_of_a_row(const SequenceShape& shape, const SequenceLabels& labels) {
  __shared__ float scratch[32];
  float count = 0;
  for (std::int64_t n = threadIdx.x; n < shape.batch; n += blockDim.x)
    count += static_cast<float>(
        min(max(static_cast<std::int64_t>(labels.lengths[n]), std::int64_t{0}), shape.steps));
  const float total = block_sum(count, scratch);
  __syncthreads();
  return total == 0 ? 0.0f : 1 / total;
}

template <typename T, int kGroup>
__global__ void __launch_bounds__(kThreads)
    loss_rows(SequenceShape shape, const T* logits, SequenceLabels labels, float* loss, float* probabilities,
              float* row_losses, std::uint32_t* counter) {
  using Group = RowGroup<kGroup>;
  const std::int64_t rows = shape.steps * shape.batch;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  const bool there = row < rows, counted = there && counts(shape, labels, row);
  const std::int64_t end = counted ? shape.classes : 0;
  const T* of_row = logits + row * shape.classes;
  float highest = -INFINITY, sum = 0;
  for (std::int64_t k = Group::lane(); k < end; k += kGroup) highest = fmaxf(highest, to_float(of_row[k]));
  highest = Group::max(highest);
  for (std::int64_t k = Group::lane(); k < end; k += kGroup) sum += expf(to_float(of_row[k]) - highest);
  sum = Group::sum(sum);
  for (std::int64_t k = Group::lane(); there && k < shape.classes; k += kGroup)
    probabilities[row * shape.classes + k] = counted ? expf(to_float(of_row[k]) - highest) / sum : 0.0f;
  if (there && Group::lane() == 0) {
    // A label that names no class makes the loss NaN.
    const std::int32_t label = labels.labels[row];
    row_losses[row] = !counted                              ? 0.0f
                      : label < 0 || label >= shape.classes ? NAN
                                                            : highest + logf(sum) - to_float(of_row[label]);
  }
  if (!is_last_block(counter)) return;
  const float all = sum_in_order(row_losses, rows);
  const float share = share_of_a_row(shape, labels);
  if (threadIdx.x == 0) *loss = share == 0 ? 0.0f : all * share;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    loss_rows_grad(SequenceShape shape, const float* d_loss, const float* __restrict__ probabilities,
                   SequenceLabels labels, T* d_logits) {
  const float d_row = *d_loss * share_of_a_row(shape, labels);
  const std::int64_t elements = shape.steps * shape.batch * shape.classes;
  for (auto at = static_cast<std::int64_t>(thread_index()); at < elements;
       at += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t row = at / shape.classes;
    const float label = labels.labels[row] == at % shape.classes ? 1.0f : 0.0f;
    d_logits[at] = from_float<T>(counts(shape, labels, row) ? d_row * (probabilities[at] - label) : 0.0f);
  }
}

}  // namespace

template <typename T>
void sequence_cross_entropy(cudaStream_t stream, const SequenceShape& shape, const T* logits,
                            const SequenceLabels& labels, float* loss, float* probabilities,
                            float* row_losses, std::uint32_t* counter) {
  with_row_groups(shape.steps * shape.batch, shape.classes, [&]<int kGroup>(int blocks) {
    loss_rows<T, kGroup>
        <<<blocks, kThreads, 0, stream>>>(shape, logits, labels, loss, probabilities, row_losses, counter);
  });
  check_launch("sequence_cross_entropy");
}

template <typename T>
void sequence_cross_entropy_grad(cudaStream_t stream, const SequenceShape& shape, const float* d_loss,
                                 const float* probabilities, const SequenceLabels& labels, T* d_logits) {
  const auto elements = static_cast<std::size_t>(shape.steps * shape.batch * shape.classes);
  loss_rows_grad<T>
      <<<grid_for(elements), kThreads, 0, stream>>>(shape, d_loss, probabilities, labels, d_logits);
  check_launch("sequence_cross_entropy_grad");
}

template void sequence_cross_entropy(cudaStream_t, const SequenceShape&, const float*, const SequenceLabels&,
                                     float*, float*, float*, std::uint32_t*);
template void sequence_cross_entropy(cudaStream_t, const SequenceShape&, const bf16*, const SequenceLabels&,
                                     float*, float*, float*, std::uint32_t*);
template void sequence_cross_entropy_grad(cudaStream_t, const SequenceShape&, const float*, const float*,
                                          const SequenceLabels&, float*);
template void sequence_cross_entropy_grad(cudaStream_t, const SequenceShape&, const float*, const float*,
                                          const SequenceLabels&, bf16*);

}  // namespace trainyard::backend::cuda::device
