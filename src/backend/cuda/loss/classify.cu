#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/loss/loss_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

namespace {

constexpr int kRowThreads = 128, kRowWarps = kRowThreads / 32;
constexpr int kAtOnce = 16;  // classes whose weights are under way together

// Beyond the last class this reads the last one again, and no one uses the result: a branch would wait for
// one load before the next.
template <typename Piece>
__device__ inline void load_weights(const Piece* __restrict__ weight, std::int64_t width, std::int64_t v,
                                    int first, int classes, Piece (&to)[kAtOnce]) {
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k) to[k] = weight[min(first + k, classes - 1) * width + v];
}

// Returns the input of the layer at vector v of the row: src after the dropout, which is also stored.
template <typename T, int kWidth>
__device__ inline Vector<T, kWidth> input_at(const ClassifyShape& shape, const Classify<T>& at,
                                             std::int64_t row, std::int64_t v) {
  const std::int64_t first = row * shape.inputs + v * kWidth;
  Vector<T, kWidth> x = *reinterpret_cast<const Vector<T, kWidth>*>(at.src + first);
  if (at.dropped == nullptr) return x;
  const Philox random = random_of(at.dropout);
  constexpr int kQuad = kWidth < 4 ? 1 : 4;
#pragma unroll
  for (int i = 0; i < kWidth; i += kQuad) {
    if constexpr (kQuad == 4) {
      const Philox::Block words = random.block(static_cast<std::uint64_t>(first + i) / 4);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        x.at[i + j] = from_float<T>(dropped(at.dropout, words[j], to_float(x.at[i + j])));
    } else {
      x.at[i] = from_float<T>(
          dropped(at.dropout, random.word(static_cast<std::uint64_t>(first + i)), to_float(x.at[i])));
    }
  }
  *reinterpret_cast<Vector<T, kWidth>*>(at.dropped + first) = x;
  return x;
}

// The products of this thread's inputs with all weights, summed over the block: lane k of every warp gets
// that of class k.
template <typename T, int kWidth, int kClasses>
__device__ float dot_row(const ClassifyShape& shape, const Classify<T>& at, std::int64_t row) {
  const auto* weight = reinterpret_cast<const Vector<T, kWidth>*>(at.weight);
  const std::int64_t width = shape.inputs / kWidth;
  const int classes = shape.classes;
  __shared__ float partial[kRowWarps][kClasses];
  float sums[kClasses] = {};
  for (std::int64_t v = threadIdx.x; v < width; v += kRowThreads) {
    const Vector<T, kWidth> x = input_at<T, kWidth>(shape, at, row, v);
#pragma unroll
    for (int first = 0; first < kClasses; first += kAtOnce) {
      Vector<T, kWidth> w[kAtOnce];
      load_weights(weight, width, v, first, classes, w);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
          sums[first + k] = fmaf(to_float(x.at[i]), to_float(w[k].at[i]), sums[first + k]);
    }
  }
#pragma unroll
  for (int k = 0; k < kClasses; ++k) {
    if (k >= classes) break;
    const float sum = warp_sum(sums[k]);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32][k] = sum;
  }
  __syncthreads();
  const int k = threadIdx.x % 32;
  float sum = 0;
  for (int warp = 0; warp < kRowWarps && k < classes; ++warp) sum += partial[warp][k];
  return sum;
}

// One block takes one row. Every warp makes the softmax for itself, so that all have the gradient at hand.
template <typename T, int kWidth, int kClasses>
__global__ void __launch_bounds__(kRowThreads) classify_rows(ClassifyShape shape, Classify<T> at) {
  using Piece = Vector<T, kWidth>;
  const std::int64_t row = blockIdx.x, width = shape.inputs / kWidth;
  const int k = threadIdx.x % 32;
  const bool there = k < shape.classes;
  const T* seen = at.dropped != nullptr ? at.dropped : at.src;  // each thread looks at what it wrote itself
  const auto* src = reinterpret_cast<const Piece*>(seen + row * shape.inputs);
  const auto* weight = reinterpret_cast<const Piece*>(at.weight);
  const int label = at.labels[row];
  const float bias = there ? at.bias[k] : 0.0f;
  const T logit = from_float<T>(dot_row<T, kWidth, kClasses>(shape, at, row) + bias);

  const float x = there ? to_float(logit) : -INFINITY;
  const float above = x - warp_max(x);
  const float log_probability = above - logf(warp_sum(there ? expf(above) : 0.0f));
  const float probability = there ? expf(log_probability) : 0.0f;
  const float named = label < 0 || label >= shape.classes ? NAN : label == k ? 1.0f : 0.0f;
  const float target =
      there ? (1 - at.smoothing) * named + at.smoothing / static_cast<float>(shape.classes) : 0.0f;
  const T d_logit = from_float<T>((probability - target) / static_cast<float>(shape.rows));
  const float loss = warp_sum(target != 0 ? -target * log_probability : 0.0f);
  if (threadIdx.x < 32 && there) {
    const std::int64_t to = row * shape.classes + k;
    at.logits[to] = logit;
    at.probabilities[to] = probability;
    at.d_logits[to] = d_logit;
  }
  if (threadIdx.x == 0) at.row_losses[row] = loss;

  const float d = there ? to_float(d_logit) : 0.0f;
  auto* d_src = reinterpret_cast<Piece*>(at.d_src + row * shape.inputs);
  for (std::int64_t first = 0; first < width;
       first += kRowThreads) {  // whole warps: they share what lanes know
    const std::int64_t v = first + threadIdx.x;
    float back[kWidth] = {};
#pragma unroll
    for (int c = 0; c < kClasses; c += kAtOnce) {
      Piece w[kAtOnce];
      load_weights(weight, width, min(v, width - 1), c, shape.classes, w);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const float gradient = __shfl_sync(0xFFFFFFFFu, d, c + j);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) back[i] = fmaf(gradient, to_float(w[j].at[i]), back[i]);
      }
    }
    if (v >= width) continue;
    const Piece x_of = src[v];
    Piece made;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float passing = to_float(x_of.at[i]) > 0 ? back[i] * at.mask_scale : 0.0f;
      made.at[i] = from_float<T>(at.mask_scale != 0 ? passing : back[i]);
    }
    d_src[v] = made;
  }
  if (!is_last_block(at.counter)) return;
  const float sum = sum_in_order(at.row_losses, shape.rows);
  if (threadIdx.x == 0) *at.loss = sum / static_cast<float>(shape.rows);
}

}  // namespace

template <typename T>
void classify(cudaStream_t stream, const ClassifyShape& shape, const Classify<T>& at) {
  constexpr int kFull = 16 / sizeof(T);
  const auto start = [&](auto* kernel) {
    kernel<<<static_cast<unsigned>(shape.rows), kRowThreads, 0, stream>>>(shape, at);
  };
  const bool few = shape.classes <= 16;
  if (shape.inputs % kFull == 0)
    start(few ? classify_rows<T, kFull, 16> : classify_rows<T, kFull, ClassifyShape::kMostClasses>);
  else
    start(few ? classify_rows<T, 1, 16> : classify_rows<T, 1, ClassifyShape::kMostClasses>);
  check_launch("classify");
}

template void classify(cudaStream_t, const ClassifyShape&, const Classify<float>&);
template void classify(cudaStream_t, const ClassifyShape&, const Classify<bf16>&);

}  // namespace trainyard::backend::cuda::device
