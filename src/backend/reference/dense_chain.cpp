#include "ops/dense_chain.h"

#include <algorithm>
#include <vector>

#include "backend/reference/activation.h"
#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void dense_chain(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::DenseChainAttrs>();
    const std::int64_t rows = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    const int layers = ops::chain_layers(args.node);
    std::vector<T> before(args.input<T>(0), args.input<T>(0) + rows * width), after(before.size());
    for (int layer = 0; layer < layers; ++layer) {
      const T *weight = args.input<T>(1 + 2 * layer), *bias = args.input<T>(2 + 2 * layer);
      for (std::int64_t n = 0; n < rows; ++n)
        for (std::int64_t o = 0; o < width; ++o) {
          double sum = bias[o];
          for (std::int64_t i = 0; i < width; ++i)
            sum +=
                static_cast<double>(before[static_cast<std::size_t>(n * width + i)]) * weight[o * width + i];
          after[static_cast<std::size_t>(n * width + o)] = activate(attrs.activation, static_cast<T>(sum));
        }
      if (attrs.all_outputs || layer + 1 == layers)
        std::copy(after.begin(), after.end(), args.output<T>(attrs.all_outputs ? layer : 0));
      before.swap(after);
    }
  });
}

void dense_chain_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::DenseChainGradAttrs>();
    const std::int64_t rows = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    const T* d_sum = args.input<T>(0);
    for (int layer = attrs.layers - 1; layer >= (attrs.d_src ? 0 : 1); --layer) {
      const T* weight = args.input<T>(1 + layer);
      const T* dst = layer > 0 ? args.input<T>(attrs.layers + layer) : nullptr;  // of the layer before
      T* made = args.output<T>(layer > 0 ? layer - 1 : attrs.layers - 1);
      for (std::int64_t n = 0; n < rows; ++n)
        for (std::int64_t i = 0; i < width; ++i) {
          double sum = 0;
          for (std::int64_t o = 0; o < width; ++o)
            sum += static_cast<double>(d_sum[n * width + o]) * weight[o * width + i];
          const T slope = dst == nullptr ? T(1) : activation_slope(attrs.activation, dst[n * width + i]);
          made[n * width + i] = static_cast<T>(sum) * slope;
        }
      d_sum = made;
    }
  });
}

void dense_chain_d_weight(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const int layers = args.node.attrs<ops::DenseChainGradAttrs>().layers;
    const std::int64_t rows = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    for (int layer = 0; layer < layers; ++layer) {
      const T *d_sum = args.input<T>(layer), *src = args.input<T>(layers + layer);
      T *d_weight = args.output<T>(2 * layer), *d_bias = args.output<T>(2 * layer + 1);
      for (std::int64_t o = 0; o < width; ++o) {
        double of_bias = 0;
        for (std::int64_t n = 0; n < rows; ++n) of_bias += d_sum[n * width + o];
        d_bias[o] = static_cast<T>(of_bias);
        for (std::int64_t i = 0; i < width; ++i) {
          double sum = 0;
          for (std::int64_t n = 0; n < rows; ++n)
            sum += static_cast<double>(d_sum[n * width + o]) * src[n * width + i];
          d_weight[o * width + i] = static_cast<T>(sum);
        }
      }
    }
  });
}

}  // namespace trainyard::backend::reference
