#include "ops/batch_norm.h"

#include <cmath>

#include "backend/reference/activation.h"
#include "backend/reference/functions.h"

namespace trainyard::backend::reference {
namespace {

// A tensor (N, C, ...) seen one channel at a time.
struct Channels {
  explicit Channels(const Shape& shape)
      : batch(shape[0]), channels(shape[1]), plane(shape.elements_from(2)) {}

  std::int64_t batch, channels, plane;
  std::int64_t count() const { return batch * plane; }

  template <typename Visit>
  void for_each(std::int64_t channel, const Visit& visit) const {
    for (std::int64_t n = 0; n < batch; ++n) {
      const std::int64_t first = (n * channels + channel) * plane;
      for (std::int64_t i = first; i < first + plane; ++i) visit(i);
    }
  }
};

}  // namespace

void batch_norm(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::BatchNormAttrs>();
    const Channels all(args.node.input_shape(0));
    const auto count = static_cast<double>(all.count());
    const T *src = args.input<T>(0), *gamma = args.input<T>(1), *beta = args.input<T>(2);
    T *running_mean = args.state<T>(3), *running_variance = args.state<T>(4);
    T *dst = args.output<T>(0), *mean_out = args.output<T>(1), *inverse_out = args.output<T>(2);
    for (std::int64_t c = 0; c < all.channels; ++c) {
      double mean = running_mean[c], variance = running_variance[c];
      if (attrs.training) {
        double sum = 0, squares = 0;
        all.for_each(c, [&](std::int64_t i) { sum += src[i]; });
        mean = sum / count;
        all.for_each(c, [&](std::int64_t i) { squares += (src[i] - mean) * (src[i] - mean); });
        variance = squares / count;
        const double unbiased = count > 1 ? squares / (count - 1) : variance;
        running_mean[c] = static_cast<T>((1 - attrs.momentum) * running_mean[c] + attrs.momentum * mean);
        running_variance[c] =
            static_cast<T>((1 - attrs.momentum) * running_variance[c] + attrs.momentum * unbiased);
      }
      const double inverse = 1 / std::sqrt(variance + attrs.epsilon);
      mean_out[c] = static_cast<T>(mean);
      inverse_out[c] = static_cast<T>(inverse);
      all.for_each(c, [&](std::int64_t i) {
        const double normal = (src[i] - mean) * inverse;
        const T residual = attrs.residual ? args.input<T>(5)[i] : T(0);
        dst[i] = activate(attrs.activation, static_cast<T>(gamma[c] * normal + beta[c] + residual));
      });
    }
  });
}

void batch_norm_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::BatchNormGradAttrs>();
    const Channels all(args.node.input_shape(1));
    const auto count = static_cast<double>(all.count());
    const T *d_dst = args.input<T>(0), *src = args.input<T>(1), *gamma = args.input<T>(2);
    const T *mean = args.input<T>(3), *inverse = args.input<T>(4);
    const T* dst = attrs.mask_by_dst ? args.input<T>(5) : nullptr;
    const T* beta = attrs.mask_by_beta ? args.input<T>(5) : nullptr;
    T *d_src = args.output<T>(0), *d_gamma = args.output<T>(1), *d_beta = args.output<T>(2);
    for (std::int64_t c = 0; c < all.channels; ++c) {
      const auto normal = [&](std::int64_t i) {
        return (static_cast<double>(src[i]) - mean[c]) * static_cast<double>(inverse[c]);
      };
      const auto gradient = [&](std::int64_t i) -> double {
        if (dst != nullptr && !(dst[i] > 0)) return 0;
        if (beta != nullptr && !(static_cast<T>(gamma[c] * normal(i) + beta[c]) > 0)) return 0;
        return d_dst[i];
      };
      double sum = 0, sum_normal = 0;
      all.for_each(c, [&](std::int64_t i) {
        sum += gradient(i);
        sum_normal += gradient(i) * normal(i);
      });
      d_beta[c] = static_cast<T>(sum);
      d_gamma[c] = static_cast<T>(sum_normal);
      const double scale = static_cast<double>(gamma[c]) * inverse[c];
      all.for_each(c, [&](std::int64_t i) {
        d_src[i] = static_cast<T>(scale * (gradient(i) - sum / count - normal(i) * sum_normal / count));
      });
    }
  });
}

}  // namespace trainyard::backend::reference
