#include "ops/softmax.h"

#include <algorithm>
#include <cmath>

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void softmax(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.input_shape(0)[0], classes = args.node.input_shape(0)[1];
    const T* src = args.input<T>(0);
    T* dst = args.output<T>(0);
    for (std::int64_t n = 0; n < rows; ++n, src += classes, dst += classes) {
      // The highest is taken off first, so that no exponential overflows.
      const double highest = *std::max_element(src, src + classes);
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(src[k] - highest);
      for (std::int64_t k = 0; k < classes; ++k) dst[k] = static_cast<T>(std::exp(src[k] - highest) / sum);
    }
  });
}

void softmax_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.input_shape(0)[0], classes = args.node.input_shape(0)[1];
    const T *d_dst = args.input<T>(0), *dst = args.input<T>(1);
    T* d_src = args.output<T>(0);
    for (std::int64_t n = 0; n < rows; ++n, d_dst += classes, dst += classes, d_src += classes) {
      double mean = 0;
      for (std::int64_t k = 0; k < classes; ++k) mean += static_cast<double>(d_dst[k]) * dst[k];
      for (std::int64_t k = 0; k < classes; ++k) d_src[k] = static_cast<T>(dst[k] * (d_dst[k] - mean));
    }
  });
}

}  // namespace trainyard::backend::reference
