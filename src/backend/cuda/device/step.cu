#include "backend/cuda/device/step.h"

#include <cuda_bf16.h>

#include "backend/cuda/device/clock.cuh"
#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {
namespace {

__global__ void mark(StepContext* context, const float* loss, StepMark* marks, std::int64_t count) {
  marks[context->step % count] = {global_nanoseconds(), loss == nullptr ? 0.0f : *loss};
  ++context->step;
}

__global__ void count(StepContext* context) { ++context->step; }

__device__ std::uint32_t scrambled(std::uint64_t i) {
  i = (i + 0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull;
  i = (i ^ (i >> 27)) * 0x94D049BB133111EBull;
  return static_cast<std::uint32_t>(i >> 32);
}

// The sum of four bytes is close enough to normal to time on.
__device__ float about_normal(std::uint64_t i) {
  const std::uint32_t word = scrambled(i);
  const int sum = static_cast<int>((word & 255) + (word >> 8 & 255) + (word >> 16 & 255) + (word >> 24));
  return static_cast<float>(sum - 510) * (1.0f / 148);
}

template <typename T>
__global__ void random_floats(T* to, std::size_t elements) {
  for (std::size_t i = thread_index(); i < elements; i += thread_count())
    to[i] = static_cast<T>(about_normal(i));
}

template <typename T>
__global__ void random_bits(T* to, std::size_t elements) {
  for (std::size_t i = thread_index(); i < elements; i += thread_count()) to[i] = scrambled(i) & 1;
}

}  // namespace

void mark_step(cudaStream_t stream, StepContext* context, const float* loss, StepMark* marks,
               std::int64_t count) {
  mark<<<1, 1, 0, stream>>>(context, loss, marks, count);
  check_launch("mark_step");
}

void count_step(cudaStream_t stream, StepContext* context) {
  count<<<1, 1, 0, stream>>>(context);
  check_launch("count_step");
}

void fill_random(cudaStream_t stream, std::byte* to, std::size_t elements, int bytes, bool floats) {
  if (elements == 0) return;
  const int blocks = grid_for(elements), threads = kThreads;
  if (floats && bytes == 4)
    random_floats<<<blocks, threads, 0, stream>>>(reinterpret_cast<float*>(to), elements);
  if (floats && bytes == 2)
    random_floats<<<blocks, threads, 0, stream>>>(reinterpret_cast<__nv_bfloat16*>(to), elements);
  if (!floats && bytes == 4)
    random_bits<<<blocks, threads, 0, stream>>>(reinterpret_cast<std::int32_t*>(to), elements);
  if (!floats && bytes == 1)
    random_bits<<<blocks, threads, 0, stream>>>(reinterpret_cast<std::uint8_t*>(to), elements);
  check_launch("fill_random");
}

}  // namespace trainyard::backend::cuda::device
