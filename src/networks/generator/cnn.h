#pragma once

#include <array>

#include "networks/generator/parameter.h"

namespace trainyard::networks::generator {

// ParaDnn's family of CNNs: a ResNet "v1.5" body whose every group starts with a projection. The original
// ends with a 7x7 pool without padding, which wants images of at least 193 pixels; the adaptive one averages
// all.
struct CnnSizes {
  bool bottleneck;
  std::array<std::int64_t, 4> blocks;
  std::int64_t filters, image, classes;
  bool adaptive;
};

inline constexpr std::int64_t kCnnPool = 7;               // the side of the original pool
inline constexpr std::int64_t kSmallestForThePool = 193;  // a 32nd of it, rounded up, is a 7

CnnSizes cnn_sizes(const Parameters& parameters, int classes);

}  // namespace trainyard::networks::generator
