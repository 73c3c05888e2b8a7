#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "networks/generator/parameter.h"
#include "ops/update_attrs.h"

namespace trainyard::predict {

// What a kernel waits for, as far as a model of its time has to tell kernels apart.
enum class KernelKind : std::uint8_t { product, norm, pool, elementwise, copy };

// Kernels that do the same, as a framework runs them that fuses nothing: a convolution, its bias and its
// activation are three.
struct KernelWork {
  KernelKind kind = KernelKind::elementwise;
  double count = 1;  // so many of them in a step
  double bytes = 0;  // each input read once, each output written once
  // Of products alone: results are rows x columns, each a sum over `inner`.
  double flops = 0;
  double rows = 0, columns = 0, inner = 0;
  double window = 1;       // area of a convolution's kernel
  bool strided = false;    // steps over positions, or is not square: no short algorithm is known
  bool of_weight = false;  // gradient of a weight
  bool dense = false;      // of matrices, no convolution
  double groups = 1;
};

// What a training step has to do, whatever device does it.
struct NetworkWork {
  std::int64_t batch = 1;
  std::vector<KernelWork> kernels;  // forward and backward; without weight decay and update
  double input_bytes = 0;           // of a batch
  double variables = 0;             // tensors that are trained
  double parameters = 0;            // numbers in them
  double state_slots = 0;           // numbers that the optimizer keeps for each parameter
  double forward_flops = 0, flops = 0;
  // Of memory, in bytes: what the backward pass reads of the forward pass, the largest live set of values
  // made within a step, and the largest inputs and outputs of one kernel.
  double saved_bytes = 0, peak_live_bytes = 0, largest_kernel_bytes = 0;

  double launches() const;
};

struct WorkOptions {
  std::string network;
  std::int64_t batch = 1;
  int classes = 0;  // 0: the network's own
  Shape input{};    // no dimension: the network's own
  ops::Rule optimizer = ops::Rule::sgd;
  networks::generator::Given parameters{};  // of a generated network
};

// Error (usage) when there is no such network.
NetworkWork work_of(const WorkOptions& options);

// Of any graph that holds a training step. REQUIRES: an update node.
NetworkWork work_of(const graph::Graph& graph, std::int64_t batch);

}  // namespace trainyard::predict
