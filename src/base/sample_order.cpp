#include "base/sample_order.h"

#include <bit>

#include "base/error.h"

namespace trainyard {

SampleOrder::SampleOrder(std::uint64_t seed, std::int64_t size) : seed_(seed), size_(size) {
  TRAINYARD_CHECK(size > 0);
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size - 1)));
  half_bits_ = std::max((bits + 1) / 2, kMinHalfBits);
}

}  // namespace trainyard
