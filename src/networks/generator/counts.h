#pragma once

#include <cstdint>
#include <limits>

#include "graph/graph.h"

namespace trainyard::networks::generator {

// What a step of a network is made of, in f32. All of it follows from the unfused graph: kernels that do
// several nodes at once move fewer bytes and keep less, and no executed step has more flops than these.
struct Counts {
  std::int64_t parameters = 0;
  // Of matrix products and convolutions, two for each multiply-add. No gradient of the input is computed.
  std::int64_t forward_flops = 0, backward_flops = 0;
  // Each node reads its inputs and writes its outputs once; an update reads and writes what it changes.
  std::int64_t compulsory_bytes = 0;
  // Made in the forward pass and read in the backward pass; none in inference.
  std::int64_t saved_bytes = 0;
  // What must be there at once: parameters, gradients, optimizer state, statistics, inputs, outputs, all that
  // is saved, and whatever else the most demanding node reads and writes.
  std::int64_t peak_bytes = 0;

  std::int64_t flops() const {  // kUncountable when either is, or both together
    return backward_flops > std::numeric_limits<std::int64_t>::max() - forward_flops
               ? std::numeric_limits<std::int64_t>::max()
               : forward_flops + backward_flops;
  }
  bool operator==(const Counts&) const = default;
};

// A count that no 64 bits hold is this.
inline constexpr std::int64_t kUncountable = std::numeric_limits<std::int64_t>::max();

struct CountOptions {
  std::int64_t batch = 1;
  bool training = true;
  int slots = 0;  // of the optimizer: state tensors per parameter
};

// The same by walking a graph, with or without a training step. REQUIRES: counts of which 64 bits are enough.
Counts count_graph(const graph::Graph& graph);

}  // namespace trainyard::networks::generator
