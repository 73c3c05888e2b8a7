#pragma once

#include "predict/kernels/kernel_shape.h"

namespace trainyard::predict {

// LayerSizes describes a layer, the same for all of its kernels: `outputs` channels at each position, from
// `inputs` channels.
struct LayerSizes {
  double batch = 1, area = 1;  // positions of one sample
  double outputs = 1, inputs = 1, window = 1, groups = 1;
  double side = 1;  // rows of one sample
  bool strided = false, oblong = false;
  bool pooled = false;  // a maximum over small windows follows, which the same kernel may take
  double bytes = 0;     // of what is no product
};

ShapePlace place_of(const LayerSizes& layer);

inline double number(std::int64_t value) { return static_cast<double>(value); }
double doublings(double value);  // 0 up to 1

}  // namespace trainyard::predict
