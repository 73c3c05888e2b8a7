#include "backend/cuda/loss/loss_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

namespace {

__device__ inline bool counts(const SequenceShape& shape, const SequenceLabels& labels, std::uint32_t row) {
  const auto batch = static_cast<std::uint32_t>(shape.batch);  // 32 bits divide several times faster
  return static_cast<std::int32_t>(row / batch) < labels.lengths[row % batch] &&
         labels.labels[row] != SequenceLabels::kNoLabel;
}

// A row begins wherever the one before ends: some elements come one by one until the next whole vector.
template <typename T>
struct RowParts {
  static constexpr int kWidth = 16 / sizeof(T), kAtOnce = 4;
  std::int64_t head, vectors, classes;

  __device__ RowParts(const T* row, std::int64_t of_row) : classes(of_row) {
    const auto over = reinterpret_cast<std::uintptr_t>(row) % 16 / sizeof(T);
    head = over == 0 ? 0 : min(static_cast<std::int64_t>(kWidth - over), classes);
    vectors = (classes - head) / kWidth;
  }
  // Calls use(class, vector) for whole vectors and use(class, element) for the others, shared by kGroup
  // threads.
  template <int kGroup, typename Use>
  __device__ void for_each(const T* row, int lane, const Use& use) const {
    std::int64_t v = lane;
    // The next vectors are loaded first, because use() may store in their place.
    for (; v + (kAtOnce - 1) * kGroup < vectors; v += kAtOnce * kGroup) {
      Vector<T, kWidth> loaded[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u)
        loaded[u] = *reinterpret_cast<const Vector<T, kWidth>*>(row + head + (v + u * kGroup) * kWidth);
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) use(head + (v + u * kGroup) * kWidth, loaded[u]);
    }
    for (; v < vectors; v += kGroup) {
      const std::int64_t k = head + v * kWidth;
      use(k, *reinterpret_cast<const Vector<T, kWidth>*>(row + k));
    }
    const std::int64_t tail = head + vectors * kWidth;
    for (std::int64_t i = lane; i < classes - vectors * kWidth; i += kGroup) {
      const std::int64_t k = i < head ? i : tail + i - head;
      use(k, *reinterpret_cast<const Vector<T, 1>*>(row + k));
    }
  }
};

// The highest of some numbers, and the sum of exponentials of what they are below it.
struct HighestAndSum {
  float highest = -INFINITY, sum = 0;

  template <typename T, int kSize>
  __device__ void take(const Vector<T, kSize>& x) {
    float most = to_float(x.at[0]);
#pragma unroll
    for (int i = 1; i < kSize; ++i) most = fmaxf(most, to_float(x.at[i]));
    if (most > highest) {
      sum *= __expf(highest - most);
      highest = most;
    }
    // Numbers that are all minus infinity add nothing; the difference would not be a number.
    const float base = highest == -INFINITY ? 0.0f : highest;
#pragma unroll
    for (int i = 0; i < kSize; ++i) sum += __expf(to_float(x.at[i]) - base);
  }
  // Returns the logarithm of the sum of exponentials of all threads of a group.
  template <typename Group>
  __device__ float log_sum() const {
    const float all = Group::max(highest);
    const float base = all == -INFINITY ? 0.0f : all;
    return all + logf(Group::sum(sum * __expf(highest - base)));
  }
};

template <typename T, int kGroup>
__global__ void __launch_bounds__(kThreads)
    loss_rows(SequenceShape shape, const T* logits, SequenceLabels labels, float* loss, float* log_sums,
              float* parts, std::uint32_t* counter) {
  using Group = RowGroup<kGroup>;
  const std::int64_t rows = shape.steps * shape.batch;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  const bool there = row < rows, counted = there && counts(shape, labels, static_cast<std::uint32_t>(row));
  const T* of_row = logits + row * shape.stride;
  HighestAndSum all;
  if (counted)
    RowParts<T>(of_row, shape.classes)
        .template for_each<kGroup>(of_row, Group::lane(), [&](std::int64_t, const auto& x) { all.take(x); });
  const float log_sum_if_counted = all.log_sum<Group>();
  float row_loss = 0;
  if (there && Group::lane() == 0) {
    // A label that names no class makes the loss NaN.
    const std::int32_t label = labels.labels[row];
    const float log_sum = counted ? log_sum_if_counted : 0.0f;
    log_sums[row] = log_sum;
    if (counted) row_loss = label < 0 || label >= shape.classes ? NAN : log_sum - to_float(of_row[label]);
  }
  __shared__ float scratch[2][32];
  const float sum_of_block = block_sum(row_loss, scratch[0]);
  const float counted_of_block = block_sum(counted && Group::lane() == 0 ? 1.0f : 0.0f, scratch[1]);
  const unsigned blocks = gridDim.x;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum_of_block;
    parts[blocks + blockIdx.x] = counted_of_block;
  }
  if (!is_last_block(counter)) return;
  const float sum = sum_in_order(parts, blocks);
  __syncthreads();  // the sum has been read
  const float all_counted = sum_in_order(parts + blocks, blocks);
  if (threadIdx.x == 0) *loss = all_counted == 0 ? 0.0f : sum / all_counted;
}

constexpr int kShareThreads = 1024;

// One over the number of steps that count, 0 where none does.
__global__ void __launch_bounds__(kShareThreads)
    share_of_rows(SequenceShape shape, SequenceLabels labels, float* share) {
  __shared__ float scratch[32];
  const auto rows = static_cast<std::uint32_t>(shape.steps * shape.batch);
  int count = 0;
#pragma unroll 8
  for (std::uint32_t row = threadIdx.x; row < rows; row += kShareThreads) count += counts(shape, labels, row);
  const float total = block_sum(static_cast<float>(count), scratch);
  if (threadIdx.x == 0) *share = total == 0 ? 0.0f : 1 / total;
}

template <typename T, int kGroup>
__global__ void __launch_bounds__(kThreads)
    loss_rows_grad(SequenceShape shape, const float* d_loss, const T* logits,
                   const float* __restrict__ log_sums, SequenceLabels labels, const float* share,
                   T* d_logits) {
  using Group = RowGroup<kGroup>;
  const float d_row = *d_loss * *share;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  if (row >= shape.steps * shape.batch) return;
  const bool counted = counts(shape, labels, static_cast<std::uint32_t>(row));
  const std::int64_t label = labels.labels[row];
  const float log_sum = log_sums[row];
  const T* of_row = logits + row * shape.stride;
  T* to_row = d_logits + row * shape.stride;
  RowParts<T>(of_row, shape.classes)
      .template for_each<kGroup>(of_row, Group::lane(),
                                 [&]<int kSize>(std::int64_t k, const Vector<T, kSize>& x) {
                                   Vector<T, kSize> made;
#pragma unroll
                                   for (int i = 0; i < kSize; ++i) {
                                     const float probability = __expf(to_float(x.at[i]) - log_sum);
                                     const float error = probability - (label == k + i ? 1.0f : 0.0f);
                                     made.at[i] = from_float<T>(counted ? d_row * error : 0.0f);
                                   }
                                   *reinterpret_cast<Vector<T, kSize>*>(to_row + k) = made;
                                 });
  for (std::int64_t k = shape.classes + Group::lane(); k < shape.stride; k += kGroup)
    to_row[k] = from_float<T>(0.0f);
}

}  // namespace

template <typename T>
void sequence_cross_entropy(cudaStream_t stream, const SequenceShape& shape, const T* logits,
                            const SequenceLabels& labels, float* loss, float* log_sums, float* parts,
                            std::uint32_t* counter) {
  with_row_groups(shape.steps * shape.batch, shape.classes, [&]<int kGroup>(int blocks) {
    loss_rows<T, kGroup>
        <<<blocks, kThreads, 0, stream>>>(shape, logits, labels, loss, log_sums, parts, counter);
  });
  check_launch("sequence_cross_entropy");
}

template <typename T>
void sequence_cross_entropy_grad(cudaStream_t stream, const SequenceShape& shape, const float* d_loss,
                                 const T* logits, const float* log_sums, const SequenceLabels& labels,
                                 float* share, T* d_logits) {
  share_of_rows<<<1, kShareThreads, 0, stream>>>(shape, labels, share);
  with_row_groups(shape.steps * shape.batch, shape.classes, [&]<int kGroup>(int blocks) {
    loss_rows_grad<T, kGroup>
        <<<blocks, kThreads, 0, stream>>>(shape, d_loss, logits, log_sums, labels, share, d_logits);
  });
  check_launch("sequence_cross_entropy_grad");
}

template void sequence_cross_entropy(cudaStream_t, const SequenceShape&, const float*, const SequenceLabels&,
                                     float*, float*, float*, std::uint32_t*);
template void sequence_cross_entropy(cudaStream_t, const SequenceShape&, const bf16*, const SequenceLabels&,
                                     float*, float*, float*, std::uint32_t*);
template void sequence_cross_entropy_grad(cudaStream_t, const SequenceShape&, const float*, const float*,
                                          const float*, const SequenceLabels&, float*, float*);
template void sequence_cross_entropy_grad(cudaStream_t, const SequenceShape&, const float*, const bf16*,
                                          const float*, const SequenceLabels&, float*, bf16*);

}  // namespace trainyard::backend::cuda::device
