#pragma once

#include <cstdint>

#include "ops/recurrent.h"

// The element by element part of one step of a recurrent layer, between its matrix products.
namespace trainyard::backend::onednn {

// Numbers of a step, sequence by sequence; a stride of 0 gives every sequence the same ones: the zeros that
// stand before the first step.
struct StepRows {
  const float* data;
  std::int64_t stride;
};

struct GatesForward {
  ops::Cell cell;
  std::int64_t batch, hidden;
  float* gates;      // (N, G*H): W x + b, and U h but for gru, on the way in; activations on the way out
  StepRows product;  // U h of gru
  StepRows h_before, inner_before;
  float* inner;  // (N, H); may be inner_before's. Of gru: or null
  float* dst;    // (N, H); of rnn the same as gates
};
void run_gates(const GatesForward& step);
void run_gates_here(const GatesForward& step);  // in the calling thread alone

struct GatesBackward {
  ops::Cell cell;
  std::int64_t batch, hidden;
  const float* d_dst;  // (N, H)
  StepRows d_product;  // what came back through the U of the step behind
  const float *gates, *inner, *dst;
  StepRows h_before, inner_before;
  float* d_state;    // (N, H): what comes from the step behind past its U, and is taken to the step before
  float* d_gates;    // (N, G*H): of W x + b
  float* d_u_gates;  // (N, G*H): of U h; the same as d_gates but for gru
};
void run_gates(const GatesBackward& step);
void run_gates_here(const GatesBackward& step);

}  // namespace trainyard::backend::onednn
