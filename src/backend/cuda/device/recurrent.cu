#include "backend/cuda/device/recurrent.h"

#include "backend/cuda/device/recurrent_unit.cuh"

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

}  // namespace trainyard::backend::cuda::device
