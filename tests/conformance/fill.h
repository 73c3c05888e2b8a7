#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "tensor/tensor.h"

namespace trainyard::conformance {

// Fills a tensor as its initializer says. The same (seed, stream) gives the same numbers in f32 and f64, but
// for rounding.
void fill(const graph::Initializer& initializer, const HostTensor& tensor, std::uint64_t seed,
          std::uint64_t stream);

HostTensor copy_of(const HostTensor& tensor);

}  // namespace trainyard::conformance
