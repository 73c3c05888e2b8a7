#include "backend/cuda/runtime/step.h"

#include <vector>

#include <cuda_bf16.h>

#include "backend/cuda/runtime/launch.cuh"

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

namespace {

// Libraries clear less than this before they sum into it; larger fills are left to the driver.
constexpr std::size_t kSmallBytes = std::size_t{4} << 20;

template <typename Word>
__global__ void fill_words(Word* to, std::size_t words, Word word) {
  for (std::size_t i = thread_index(); i < words; i += thread_count()) to[i] = word;
}

template <typename Word>
cudaGraphNode_t add_fill(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& behind, void* to,
                         std::size_t bytes, Word word) {
  std::size_t words = bytes / sizeof(Word);
  void* arguments[] = {&to, &words, &word};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(&fill_words<Word>);
  kernel.gridDim = dim3(static_cast<unsigned>(grid_for(words)));
  kernel.blockDim = dim3(kThreads);
  kernel.kernelParams = arguments;
  cudaGraphNode_t made = nullptr;
  TRAINYARD_CUDA(cudaGraphAddKernelNode(&made, graph, behind.data(), behind.size(), &kernel));
  return made;
}

// Adds a fill by the widest words that fit. Null: elements of two bytes at an odd address, which no library
// fills.
cudaGraphNode_t add_fill(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& behind,
                         const cudaMemsetParams& fill) {
  const std::size_t bytes = fill.width * fill.elementSize;
  const auto fits = [&](std::size_t word) {
    return reinterpret_cast<std::size_t>(fill.dst) % word == 0 && bytes % word == 0;
  };
  const unsigned word = fill.elementSize == 1   ? (fill.value & 0xFFu) * 0x01010101u
                        : fill.elementSize == 2 ? (fill.value & 0xFFFFu) * 0x00010001u
                                                : fill.value;
  if (fits(sizeof(uint4))) return add_fill(graph, behind, fill.dst, bytes, uint4{word, word, word, word});
  if (fits(sizeof word)) return add_fill(graph, behind, fill.dst, bytes, word);
  if (fill.elementSize > 1) return nullptr;
  return add_fill(graph, behind, fill.dst, bytes, static_cast<unsigned char>(word));
}

using Neighbours = cudaError_t (*)(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*, size_t*);

std::vector<cudaGraphNode_t> neighbours(cudaGraphNode_t node, Neighbours of) {
  std::size_t count = 0;
  TRAINYARD_CUDA(of(node, nullptr, nullptr, &count));
  std::vector<cudaGraphNode_t> found(count);
  if (count > 0) TRAINYARD_CUDA(of(node, found.data(), nullptr, &count));
  return found;
}

bool is_of_type(cudaGraphNode_t node, cudaGraphNodeType wanted) {
  cudaGraphNodeType type{};
  TRAINYARD_CUDA(cudaGraphNodeGetType(node, &type));
  return type == wanted;
}

// A fill is as urgent as what waits for it.
void take_priority(cudaGraphNode_t made, const std::vector<cudaGraphNode_t>& waiting) {
  for (const cudaGraphNode_t next : waiting) {
    if (!is_of_type(next, cudaGraphNodeTypeKernel)) continue;
    cudaLaunchAttributeValue priority{};
    TRAINYARD_CUDA(cudaGraphKernelNodeGetAttribute(next, cudaLaunchAttributePriority, &priority));
    TRAINYARD_CUDA(cudaGraphKernelNodeSetAttribute(made, cudaLaunchAttributePriority, &priority));
    return;
  }
}

}  // namespace

void fill_by_kernels(cudaGraph_t graph) {
  std::size_t count = 0;
  TRAINYARD_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  TRAINYARD_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  for (const cudaGraphNode_t node : nodes) {
    if (!is_of_type(node, cudaGraphNodeTypeMemset)) continue;
    cudaMemsetParams fill{};
    TRAINYARD_CUDA(cudaGraphMemsetNodeGetParams(node, &fill));
    if (fill.height != 1 || fill.width * fill.elementSize > kSmallBytes) continue;
    const cudaGraphNode_t made = add_fill(graph, neighbours(node, cudaGraphNodeGetDependencies), fill);
    if (made == nullptr) continue;
    const std::vector<cudaGraphNode_t> waiting = neighbours(node, cudaGraphNodeGetDependentNodes);
    const std::vector<cudaGraphNode_t> from(waiting.size(), made);
    TRAINYARD_CUDA(cudaGraphAddDependencies(graph, from.data(), waiting.data(), nullptr, waiting.size()));
    take_priority(made, waiting);
    TRAINYARD_CUDA(cudaGraphDestroyNode(node));
  }
}

}  // namespace trainyard::backend::cuda::device
