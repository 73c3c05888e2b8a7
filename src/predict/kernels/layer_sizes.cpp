#include "predict/kernels/layer_sizes.h"

namespace trainyard::predict {
namespace {

constexpr double kFewChannels = 4;  // of images, for which there are kernels of their own

// Rates how badly kernels can group channels: many fall back to single ones where the number is no multiple
// of four, and the fastest need large powers of two.
double awkwardness(double channels) {
  const auto number = static_cast<std::int64_t>(channels);
  return number % 64 == 0   ? 0
         : number % 32 == 0 ? 0.125
         : number % 16 == 0 ? 0.25
         : number % 8 == 0  ? 0.9
         : number % 4 == 0  ? 1.55
                            : 3.5;
}

double awkward_side(double side) {
  const auto number = static_cast<std::int64_t>(side);
  return number % 16 == 0 ? 0 : number % 4 == 0 ? 0.05 : number % 2 == 0 ? 0.15 : 0.25;
}

}  // namespace

double doublings(double value) { return std::log2(std::max(value, 1.0)); }

// Each coordinate is divided by the distance at which kernels have little in common: doublings of a size, or
// a yes against a no. These distances predict convolutions of generated networks best from others
// (docs/prediction.md).
ShapePlace place_of(const LayerSizes& layer) {
  const bool few = layer.inputs <= kFewChannels;
  return {doublings(layer.batch * layer.area) / 2.5,
          doublings(layer.outputs) / 1.8,
          doublings(layer.inputs) / 2.2,
          doublings(layer.window) / 1.25,
          layer.strided ? 1.0 : 0.0,
          layer.groups > 1 ? 1.4 + doublings(layer.groups) / 6 : 0.0,
          layer.oblong ? 0.7 : 0.0,
          awkwardness(layer.outputs),
          awkwardness(layer.inputs),
          doublings(layer.batch) / 10,
          doublings(layer.area) / 12,
          awkward_side(layer.side),
          few ? 0.6 : 0.0,
          few && layer.pooled ? 2.0 : 0.0,
          doublings(layer.bytes) / 2.5};
}

}  // namespace trainyard::predict
