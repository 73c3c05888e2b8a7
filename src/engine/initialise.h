#pragma once

#include <cstdint>

#include "engine/executor.h"
#include "graph/graph.h"
#include "tensor/layout.h"

namespace trainyard::engine {

// Writes the first content of one tensor, element by element through its layout (no copy in plain order is
// made, so the peak of memory is the plan's). The content depends on seed, name and logical index alone.
void fill(const graph::Initializer& initializer, const std::string& name, std::uint64_t seed,
          const graph::TensorType& type, const Layout& layout, std::byte* data);

// Parameters and statistics of a plan.
void initialise_state(Executor& executor, std::uint64_t seed);

// A slot "w:ema" starts as its parameter "w" does.
void initialise_optimizer(Executor& executor, std::uint64_t seed);

// Inputs with random content, for benchmarks and tests.
void initialise_inputs(Executor& executor, std::uint64_t seed);

}  // namespace trainyard::engine
