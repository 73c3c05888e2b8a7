#include "backend/cuda/rnn/recurrent_unit.cuh"
#include "backend/cuda/rnn/rnn_kernels.h"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

template <typename T, int kGates>
__global__ void __launch_bounds__(kThreads)
    step_units(std::int64_t batch, std::int64_t hidden, ForwardStep<T> step) {
  for (std::size_t at = thread_index(); at < static_cast<std::size_t>(batch * hidden); at += thread_count()) {
    const auto unit = static_cast<std::int64_t>(at);
    const std::int64_t row = unit / hidden, first = row * kGates * hidden + unit % hidden;
    float x[kGates], u[kGates];
#pragma unroll
    for (int gate = 0; gate < kGates; ++gate) {
      x[gate] = to_float(step.x[first + gate * hidden]) + step.bias[unit % hidden + gate * hidden];
      u[gate] = step.u == nullptr ? 0.0f : to_float(step.u[first + gate * hidden]);
    }
    if constexpr (kGates == 3)
      if (step.last_bias != nullptr) u[2] += step.last_bias[unit % hidden];
    const float h = step.before == nullptr ? 0.0f : to_float(step.before[unit]);
    const float c = kGates != 4 || step.u == nullptr ? 0.0f : step.cell[unit];
    const Unit<kGates> made = step_unit<kGates>(x, u, h, c);
    step.dst[unit] = from_float<T>(made.dst);
    if constexpr (kGates == 4) step.cell[unit] = made.inner;
    if (step.made_gates == nullptr) continue;
#pragma unroll
    for (int gate = 0; gate < kGates; ++gate)
      step.made_gates[first + gate * hidden] = from_float<T>(made.gates[gate]);
    step.inner[unit] = from_float<T>(made.inner);
  }
}

template <typename T, int kGates>
__global__ void __launch_bounds__(kThreads)
    step_units_grad(std::int64_t batch, std::int64_t hidden, BackwardStep<T> step) {
  for (std::size_t at = thread_index(); at < static_cast<std::size_t>(batch * hidden); at += thread_count()) {
    const auto place = static_cast<std::int64_t>(at);
    const std::int64_t row = place / hidden, first = row * kGates * hidden + place % hidden;
    Unit<kGates> unit;
    unit.dst = to_float(step.dst[place]);
    if constexpr (kGates > 1) {
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate)
        unit.gates[gate] = to_float(step.gates[first + gate * hidden]);
      unit.inner = to_float(step.inner[place]);
    }
    const bool last = step.through_u == nullptr;
    const float carried = last || kGates == 1 ? 0.0f : step.carried[place];
    float d_dst = to_float(step.d_dst[place]) + (last ? 0.0f : to_float(step.through_u[place]));
    if constexpr (kGates == 3) d_dst += carried;
    const float h = step.before == nullptr ? 0.0f : to_float(step.before[place]);
    const float c = step.inner_before == nullptr ? 0.0f : to_float(step.inner_before[place]);
    const UnitGradient<kGates> made = unit_gradient<kGates>(unit, d_dst, carried, h, c);
#pragma unroll
    for (int gate = 0; gate < kGates; ++gate) step.d_x[first + gate * hidden] = from_float<T>(made.x[gate]);
    if constexpr (kGates == 3)
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate)
        step.d_u[first + gate * hidden] = from_float<T>(gate == 2 ? made.u_last : made.x[gate]);
    if constexpr (kGates > 1) step.carried[place] = made.carried;
  }
}

// Calls start.operator()<kGates>().
template <typename Start>
void with_gates(int gates, const Start& start) {
  if (gates == 1)
    start.template operator()<1>();
  else if (gates == 3)
    start.template operator()<3>();
  else
    start.template operator()<4>();
}

// Small blocks: a step has few units, and all multiprocessors should have some.
constexpr int kUnitsOfBlock = 128;

int blocks_for(const StepSizes& sizes) {
  return grid_for(static_cast<std::size_t>(sizes.batch * sizes.hidden), kUnitsOfBlock);
}

}  // namespace

template <typename T>
void recurrent_step(cudaStream_t stream, const StepSizes& sizes, const ForwardStep<T>& step) {
  with_gates(sizes.gates, [&]<int kGates>() {
    step_units<T, kGates><<<blocks_for(sizes), kUnitsOfBlock, 0, stream>>>(sizes.batch, sizes.hidden, step);
  });
  check_launch("recurrent_step");
}

template <typename T>
void recurrent_step_grad(cudaStream_t stream, const StepSizes& sizes, const BackwardStep<T>& step) {
  with_gates(sizes.gates, [&]<int kGates>() {
    step_units_grad<T, kGates>
        <<<blocks_for(sizes), kUnitsOfBlock, 0, stream>>>(sizes.batch, sizes.hidden, step);
  });
  check_launch("recurrent_step_grad");
}

template void recurrent_step(cudaStream_t, const StepSizes&, const ForwardStep<float>&);
template void recurrent_step(cudaStream_t, const StepSizes&, const ForwardStep<bf16>&);
template void recurrent_step_grad(cudaStream_t, const StepSizes&, const BackwardStep<float>&);
template void recurrent_step_grad(cudaStream_t, const StepSizes&, const BackwardStep<bf16>&);

namespace {

// A thread takes kWidth neighbouring numbers of a row.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads) take_rows(EmbeddingSizes sizes, const T* __restrict__ table,
                                                      const std::int32_t* __restrict__ ids, T* dst) {
  const std::int64_t of_row = sizes.width / kWidth, vectors = sizes.ids * of_row;
  for (auto at = static_cast<std::int64_t>(thread_index()); at < vectors;
       at += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t row = at / of_row, id = ids[row];
    Vector<T, kWidth> made;
    if (id < 0 || id >= sizes.vocabulary) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) made.at[i] = from_float<T>(NAN);
    } else {
      made = *reinterpret_cast<const Vector<T, kWidth>*>(table + id * sizes.width +
                                                         (at - row * of_row) * kWidth);
    }
    *reinterpret_cast<Vector<T, kWidth>*>(dst + at * kWidth) = made;
  }
}

constexpr int kColumns = 128;

// Ids are shared out so that a table of few rows fills the GPU, too.
int parts_of(const EmbeddingSizes& sizes) {
  constexpr std::int64_t kBlocks = 1056, kLeastIds = 256;
  const std::int64_t blocks = sizes.vocabulary * ((sizes.width + kColumns - 1) / kColumns);
  return static_cast<int>(std::clamp<std::int64_t>(std::min(kBlocks / blocks, sizes.ids / kLeastIds), 1, 64));
}

// One block a row of the table, some of its columns, and a part of the ids, which it looks through tile by
// tile.
template <typename T>
__global__ void __launch_bounds__(kColumns)
    sum_rows(EmbeddingSizes sizes, const T* __restrict__ d_dst, const std::int32_t* __restrict__ ids,
             T* d_table, float* parts) {
  constexpr int kTile = 8 * kColumns;
  __shared__ std::int32_t tile[kTile];
  const std::int64_t row = blockIdx.x,
                     column = static_cast<std::int64_t>(blockIdx.y) * kColumns + threadIdx.x;
  const int lane = threadIdx.x % 32;
  const std::int64_t begin = sizes.ids * blockIdx.z / gridDim.z,
                     end = sizes.ids * (blockIdx.z + 1) / gridDim.z;
  const bool own = column < sizes.width;
  float sum = 0;
  for (std::int64_t first = begin; first < end; first += kTile) {
    __syncthreads();  // the tile before may still be read
#pragma unroll
    for (int i = threadIdx.x; i < kTile; i += kColumns) tile[i] = first + i < end ? ids[first + i] : -1;
    __syncthreads();
    for (int group = 0; group < kTile; group += 32)
      for (unsigned left = __ballot_sync(0xFFFFFFFFu, tile[group + lane] == row); left != 0; left &= left - 1)
        if (own)
          sum += to_float(d_dst[(first + group + __ffs(static_cast<int>(left)) - 1) * sizes.width + column]);
  }
  if (!own) return;
  const std::int64_t at = row * sizes.width + column;
  if (parts == nullptr)
    d_table[at] = from_float<T>(sum);
  else
    parts[blockIdx.z * sizes.vocabulary * sizes.width + at] = sum;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    add_parts(std::int64_t elements, const float* __restrict__ parts, int count, T* d_table) {
  for (auto at = static_cast<std::int64_t>(thread_index()); at < elements;
       at += static_cast<std::int64_t>(thread_count())) {
    float sum = 0;
    for (int part = 0; part < count; ++part) sum += parts[part * elements + at];
    d_table[at] = from_float<T>(sum);
  }
}

}  // namespace

template <typename T>
void embedding(cudaStream_t stream, const EmbeddingSizes& sizes, const T* table, const std::int32_t* ids,
               T* dst) {
  constexpr int kWidth = 16 / sizeof(T);
  const auto elements = static_cast<std::size_t>(sizes.ids * sizes.width);
  if (sizes.width % kWidth == 0)
    take_rows<T, kWidth><<<grid_for(elements / kWidth), kThreads, 0, stream>>>(sizes, table, ids, dst);
  else
    take_rows<T, 1><<<grid_for(elements), kThreads, 0, stream>>>(sizes, table, ids, dst);
  check_launch("embedding");
}

std::int64_t embedding_parts(const EmbeddingSizes& sizes) {
  const int parts = parts_of(sizes);
  return parts == 1 ? 0 : parts * sizes.vocabulary * sizes.width;
}

template <typename T>
void embedding_d_table(cudaStream_t stream, const EmbeddingSizes& sizes, const T* d_dst,
                       const std::int32_t* ids, T* d_table, float* parts) {
  const int count = parts_of(sizes);
  if (count == 1) parts = nullptr;
  const dim3 grid(static_cast<unsigned>(sizes.vocabulary),
                  static_cast<unsigned>((sizes.width + kColumns - 1) / kColumns),
                  static_cast<unsigned>(count));
  sum_rows<T><<<grid, kColumns, 0, stream>>>(sizes, d_dst, ids, d_table, parts);
  check_launch("embedding_d_table");
  if (count == 1) return;
  const std::int64_t elements = sizes.vocabulary * sizes.width;
  add_parts<T><<<grid_for(static_cast<std::size_t>(elements)), kThreads, 0, stream>>>(elements, parts, count,
                                                                                      d_table);
  check_launch("embedding_d_table");
}

template void embedding(cudaStream_t, const EmbeddingSizes&, const float*, const std::int32_t*, float*);
template void embedding(cudaStream_t, const EmbeddingSizes&, const bf16*, const std::int32_t*, bf16*);
template void embedding_d_table(cudaStream_t, const EmbeddingSizes&, const float*, const std::int32_t*,
                                float*, float*);
template void embedding_d_table(cudaStream_t, const EmbeddingSizes&, const bf16*, const std::int32_t*, bf16*,
                                float*);

}  // namespace trainyard::backend::cuda::device
