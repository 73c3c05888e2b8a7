#pragma once

#include <array>

#include "networks/builder.h"

namespace trainyard::networks {

// ParaDnn's family of CNNs, spanned by a few numbers: a ResNet "v1.5" body whose every group starts with a
// projection, and a 7x7 pool without padding at its end, so that images of at least 193 pixels are needed.
struct ResidualCnn {
  bool bottleneck = true;
  std::array<int, 4> blocks{1, 1, 1, 1};
  std::int64_t base_filters = 16;
};

// images (N, C, S, S) -> logits (N, classes)
graph::ValueId residual_cnn(Builder& builder, graph::ValueId images, int classes, const ResidualCnn& cnn);

}  // namespace trainyard::networks
