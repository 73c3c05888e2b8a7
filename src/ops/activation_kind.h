#pragma once

#include <cstdint>

namespace trainyard::ops {

// Every one of these has a derivative that follows from its output alone, so a fused producer need not keep
// the input.
enum class Activation : std::uint8_t { none, relu, relu6, leaky_relu, sigmoid, tanh };

}  // namespace trainyard::ops
