#include "fill.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "base/philox.h"

namespace trainyard::conformance {
namespace {

using Kind = graph::Initializer::Kind;

// (0, 1) with 53 bits.
double unit(std::uint32_t high, std::uint32_t low) {
  return ((high >> 5) * 0x1p26 + (low >> 6) + 0.5) * 0x1p-53;
}

double number(const graph::Initializer& rule, const Philox& random, std::uint64_t index) {
  const auto words = random.block(index);
  const double u = unit(words[0], words[1]);
  const double z = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * unit(words[2], words[3]));
  switch (rule.kind) {
    case Kind::constant:
      return rule.a;
    case Kind::uniform:
      return rule.a + (rule.b - rule.a) * u;
    case Kind::integers:
      return std::floor(rule.a + (rule.b - rule.a) * u);
    case Kind::listed:
      return rule.numbers->at(static_cast<std::size_t>(index));
    case Kind::normal:
      return rule.a + rule.b * z;
    case Kind::truncated_normal:
      if (std::abs(z) > 2) return number(rule, random, index + (std::uint64_t{1} << 40));
      return rule.a + rule.b * z;
  }
  return 0;
}

template <typename T>
void fill_as(const graph::Initializer& initializer, std::span<T> values, const Philox& random) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(number(initializer, random, i));
}

}  // namespace

void fill(const graph::Initializer& initializer, const HostTensor& tensor, std::uint64_t seed,
          std::uint64_t stream) {
  const Philox random(seed, stream);
  switch (tensor.dtype()) {
    case DType::f32:
      return fill_as(initializer, tensor.as<float>(), random);
    case DType::f64:
      return fill_as(initializer, tensor.as<double>(), random);
    case DType::i32:
      return fill_as(initializer, tensor.as<std::int32_t>(), random);
    case DType::bf16:
      break;  // no problem starts with it: the planner makes it
    case DType::u8:
      return fill_as(initializer, tensor.as<std::uint8_t>(), random);
  }
}

HostTensor copy_of(const HostTensor& tensor) {
  HostTensor copy(tensor.shape(), tensor.dtype());
  std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  return copy;
}

}  // namespace trainyard::conformance
