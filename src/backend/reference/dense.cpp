#include "ops/dense.h"

#include "backend/reference/activation.h"
#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void dense(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::DenseAttrs>();
    const std::int64_t batch = args.node.input_shape(0)[0], outputs = args.node.input_shape(1)[0];
    const std::int64_t inputs = args.node.input_shape(1).elements_from(1);
    const T *src = args.input<T>(0), *weight = args.input<T>(1);
    const T* bias = args.node.inputs() == 3 ? args.input<T>(2) : nullptr;
    T* dst = args.output<T>(0);
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t o = 0; o < outputs; ++o) {
        const T *row = src + n * inputs, *column = weight + o * inputs;
        double sum = bias != nullptr ? bias[o] : T(0);
        for (std::int64_t i = 0; i < inputs; ++i) sum += static_cast<double>(row[i]) * column[i];
        dst[n * outputs + o] = activate(attrs.activation, static_cast<T>(sum));
      }
  });
}

void dense_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t batch = args.node.input_shape(0)[0], outputs = args.node.input_shape(0)[1];
    const std::int64_t inputs = args.node.input_shape(1).elements_from(1);
    const T *d_dst = args.input<T>(0), *weight = args.input<T>(1);
    T* d_src = args.output<T>(0);
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t i = 0; i < inputs; ++i) {
        double sum = 0;
        for (std::int64_t o = 0; o < outputs; ++o)
          sum += static_cast<double>(d_dst[n * outputs + o]) * weight[o * inputs + i];
        d_src[n * inputs + i] = static_cast<T>(sum);
      }
  });
}

void dense_d_weight(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t batch = args.node.input_shape(0)[0], outputs = args.node.input_shape(0)[1];
    const std::int64_t inputs = args.node.input_shape(1).elements_from(1);
    const T *d_dst = args.input<T>(0), *src = args.input<T>(1);
    T* d_weight = args.output<T>(0);
    for (std::int64_t o = 0; o < outputs; ++o)
      for (std::int64_t i = 0; i < inputs; ++i) {
        double sum = 0;
        for (std::int64_t n = 0; n < batch; ++n)
          sum += static_cast<double>(d_dst[n * outputs + o]) * src[n * inputs + i];
        d_weight[o * inputs + i] = static_cast<T>(sum);
      }
    if (!args.node.attrs<ops::DenseGradAttrs>().bias) return;
    T* d_bias = args.output<T>(1);
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = 0;
      for (std::int64_t n = 0; n < batch; ++n) sum += d_dst[n * outputs + o];
      d_bias[o] = static_cast<T>(sum);
    }
  });
}

}  // namespace trainyard::backend::reference
