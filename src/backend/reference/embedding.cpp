#include "ops/embedding.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void embedding(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t vocabulary = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    const T* table = args.input<T>(0);
    const auto* ids = args.input<std::int32_t>(1);
    T* dst = args.output<T>(0);
    for (std::int64_t i = 0; i < args.node.input_shape(1).elements(); ++i, dst += width) {
      if (ids[i] >= 0 && ids[i] < vocabulary)
        std::copy_n(table + ids[i] * width, width, dst);
      else
        std::fill_n(dst, width, std::numeric_limits<T>::quiet_NaN());
    }
  });
}

void embedding_d_table(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t vocabulary = args.node.output_shape(0)[0], width = args.node.output_shape(0)[1];
    const T* d_dst = args.input<T>(0);
    const auto* ids = args.input<std::int32_t>(1);
    std::vector<double> sums(static_cast<std::size_t>(vocabulary * width), 0);
    for (std::int64_t i = 0; i < args.node.input_shape(1).elements(); ++i, d_dst += width) {
      if (ids[i] < 0 || ids[i] >= vocabulary) continue;
      for (std::int64_t e = 0; e < width; ++e) sums[static_cast<std::size_t>(ids[i] * width + e)] += d_dst[e];
    }
    std::transform(sums.begin(), sums.end(), args.output<T>(0),
                   [](double sum) { return static_cast<T>(sum); });
  });
}

}  // namespace trainyard::backend::reference
