#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard::backend {

// f32: every product in f32. tf32: tensors are f32, matrix units round what they multiply to 10 bits.
// bf16: activations, their gradients and the copies of weights that are multiplied are bf16; parameters,
// optimizer state, statistics and every sum are f32.
enum class Precision : std::uint8_t { f32, tf32, bf16 };

constexpr const char* name(Precision precision) {
  return precision == Precision::f32 ? "f32" : precision == Precision::tf32 ? "tf32" : "bf16";
}

}  // namespace trainyard::backend
