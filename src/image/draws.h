#pragma once

#include <cstdint>

#include "base/philox.h"

namespace trainyard::image {

// The random numbers of one image, in the order in which they are asked for.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : philox_(seed, stream_of("preprocess")) {}

  std::uint32_t word() { return philox_.word(next_++); }
  double unit() { return static_cast<double>(to_unit_float(word())); }  // [0, 1)
  double between(double low, double high) { return low + (high - low) * unit(); }
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>((std::uint64_t{word()} * static_cast<std::uint64_t>(count)) >> 32);
  }
  bool coin() { return word() >> 31 != 0; }

 private:
  Philox philox_;
  std::uint64_t next_ = 0;
};

}  // namespace trainyard::image
