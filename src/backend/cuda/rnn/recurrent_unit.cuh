#pragma once

#include "backend/cuda/runtime/launch.cuh"

// These functions compute one unit of a recurrent layer, forward and backward; kGates tells the cell
// (ops/recurrent.h).
namespace trainyard::backend::cuda::device {

__device__ inline float logistic(float x) { return 1 / (1 + __expf(-x)); }

template <int kGates>
struct Unit {
  float gates[kGates];
  float inner = 0, dst = 0;
};

// x: W x + b, u: U h, gate by gate; h and c: the state before.
template <int kGates>
__device__ inline Unit<kGates> step_unit(const float (&x)[kGates], const float (&u)[kGates], float h,
                                         float c) {
  Unit<kGates> made;
  if constexpr (kGates == 1) {
    made.dst = made.gates[0] = tanhf(x[0] + u[0]);
  } else if constexpr (kGates == 4) {
    made.gates[0] = logistic(x[0] + u[0]);
    made.gates[1] = logistic(x[1] + u[1]);
    made.gates[2] = tanhf(x[2] + u[2]);
    made.gates[3] = logistic(x[3] + u[3]);
    made.inner = made.gates[1] * c + made.gates[0] * made.gates[2];
    made.dst = made.gates[3] * tanhf(made.inner);
  } else {
    made.gates[0] = logistic(x[0] + u[0]);
    made.gates[1] = logistic(x[1] + u[1]);
    made.inner = u[2];
    made.gates[2] = tanhf(x[2] + made.gates[0] * u[2]);
    made.dst = (1 - made.gates[1]) * made.gates[2] + made.gates[1] * h;
  }
  return made;
}

// `carried`: d_c of lstm, what h passes on past U h in gru.
template <int kGates>
struct UnitGradient {
  float x[kGates];
  float u_last = 0;  // of U h's last gate, in gru; elsewhere U h has the gradients of x
  float carried = 0;
};

// d_dst is complete; d_c: of lstm's cell, from the step behind; h and c: the state before.
template <int kGates>
__device__ inline UnitGradient<kGates> unit_gradient(const Unit<kGates>& unit, float d_dst, float d_c,
                                                     float h, float c) {
  UnitGradient<kGates> made;
  if constexpr (kGates == 1) {
    made.x[0] = d_dst * (1 - unit.dst * unit.dst);
  } else if constexpr (kGates == 4) {
    const float i = unit.gates[0], f = unit.gates[1], g = unit.gates[2], o = unit.gates[3];
    const float squashed = tanhf(unit.inner);
    const float d_cell = d_c + d_dst * o * (1 - squashed * squashed);
    made.x[0] = d_cell * g * i * (1 - i);
    made.x[1] = d_cell * c * f * (1 - f);
    made.x[2] = d_cell * i * (1 - g * g);
    made.x[3] = d_dst * squashed * o * (1 - o);
    made.carried = d_cell * f;
  } else {
    const float r = unit.gates[0], z = unit.gates[1], n = unit.gates[2];
    made.x[2] = d_dst * (1 - z) * (1 - n * n);
    made.x[1] = d_dst * (h - n) * z * (1 - z);
    made.x[0] = made.x[2] * unit.inner * r * (1 - r);
    made.u_last = made.x[2] * r;
    made.carried = d_dst * z;
  }
  return made;
}

}  // namespace trainyard::backend::cuda::device
