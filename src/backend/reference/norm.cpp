#include "ops/norm.h"
#include "backend/reference/backend.h"
#include "backend/reference/elementwise.h"

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

template <typename T>
struct NormInputs {
  const T *src, *gamma, *beta, *mean, *inverse;
};

// Takes mean and inverse deviation as they are kept, so that a second run has the same bits.
template <typename T>
void normalise_channel(const Channels& all, std::int64_t c, const NormInputs<T>& in, const T* residual,
                       const ops::ActivationAttrs& activation, T* dst) {
  all.for_each(c, [&](std::int64_t i) {
    const double normal = (static_cast<double>(in.src[i]) - in.mean[c]) * static_cast<double>(in.inverse[c]);
    const T added = residual != nullptr ? residual[i] : T(0);
    dst[i] = activate(activation, static_cast<T>(in.gamma[c] * normal + in.beta[c] + added));
  });
}

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
      normalise_channel<T>(all, c, {src, gamma, beta, mean_out, inverse_out},
                           attrs.residual ? args.input<T>(5) : nullptr, attrs.activation, dst);
    }
  });
}

void batch_norm_apply(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::BatchNormApplyAttrs>();
    const Channels all(args.node.input_shape(0));
    for (std::int64_t c = 0; c < all.channels; ++c)
      normalise_channel<T>(
          all, c, {args.input<T>(0), args.input<T>(1), args.input<T>(2), args.input<T>(3), args.input<T>(4)},
          attrs.residual ? args.input<T>(5) : nullptr, attrs.activation, args.output<T>(0));
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

using Attrs = ops::LocalResponseNormAttrs;

// One pixel seen across its channels.
template <typename T>
struct Column {
  const T* first;
  std::int64_t channels, stride;

  double operator[](std::int64_t channel) const { return first[channel * stride]; }
  std::int64_t begin(std::int64_t c, std::int64_t radius) const {
    return std::max<std::int64_t>(0, c - radius);
  }
  std::int64_t end(std::int64_t c, std::int64_t radius) const { return std::min(channels, c + radius + 1); }
};

// k + alpha * sum of squares of the neighbours.
template <typename T>
double base_at(const Attrs& attrs, const Column<T>& src, std::int64_t c) {
  const std::int64_t radius = attrs.window / 2;
  double squares = 0;
  for (std::int64_t j = src.begin(c, radius); j < src.end(c, radius); ++j) squares += src[j] * src[j];
  return attrs.k + attrs.alpha * squares;
}

// Neighbour j sees channel c in its own base b_j:
// d_src_c = d_dst_c * b_c^-beta - 2 alpha beta src_c * sum_j d_dst_j src_j b_j^(-beta - 1)
template <typename T>
double d_src_at(const Attrs& attrs, const Column<T>& d_dst, const Column<T>& src, std::int64_t c) {
  const std::int64_t radius = attrs.window / 2;
  double sum = 0;
  for (std::int64_t j = src.begin(c, radius); j < src.end(c, radius); ++j)
    sum += d_dst[j] * src[j] * std::pow(base_at(attrs, src, j), -attrs.beta - 1);
  return d_dst[c] * std::pow(base_at(attrs, src, c), -attrs.beta) -
         2 * attrs.alpha * attrs.beta * src[c] * sum;
}

// Calls visit(index of channel 0) for every pixel of every image.
template <typename Visit>
void for_each_pixel(const Shape& shape, const Visit& visit) {
  const std::int64_t image = shape.elements_from(1), plane = shape.elements_from(2);
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t i = 0; i < plane; ++i) visit(n * image + i);
}

void local_response_norm(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<Attrs>();
    const Shape& shape = args.node.input_shape(0);
    const std::int64_t plane = shape.elements_from(2);
    T* dst = args.output<T>(0);
    for_each_pixel(shape, [&](std::int64_t pixel) {
      const Column<T> src{args.input<T>(0) + pixel, shape[1], plane};
      for (std::int64_t c = 0; c < shape[1]; ++c)
        dst[pixel + c * plane] = static_cast<T>(src[c] * std::pow(base_at(attrs, src, c), -attrs.beta));
    });
  });
}

void local_response_norm_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<Attrs>();
    const Shape& shape = args.node.input_shape(0);
    const std::int64_t plane = shape.elements_from(2);
    T* d_src = args.output<T>(0);
    for_each_pixel(shape, [&](std::int64_t pixel) {
      const Column<T> d_dst{args.input<T>(0) + pixel, shape[1], plane};
      const Column<T> src{args.input<T>(1) + pixel, shape[1], plane};
      for (std::int64_t c = 0; c < shape[1]; ++c)
        d_src[pixel + c * plane] = static_cast<T>(d_src_at(attrs, d_dst, src, c));
    });
  });
}

void l2_penalty(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    double squares = 0;
    for (int w = 0; w < args.node.inputs(); ++w) {
      const T* weight = args.input<T>(w);
      const std::int64_t elements = args.node.input_shape(w).elements();
      for (std::int64_t i = 0; i < elements; ++i) squares += static_cast<double>(weight[i]) * weight[i];
    }
    *args.output<T>(0) = static_cast<T>(args.node.attrs<ops::L2PenaltyAttrs>().coefficient / 2 * squares);
  });
}

void l2_penalty_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const double factor = args.node.attrs<ops::L2PenaltyAttrs>().coefficient * *args.input<T>(0);
    const T* weight = args.input<T>(1);
    T* d_weight = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i) d_weight[i] = static_cast<T>(factor * weight[i]);
  });
}

}  // namespace

std::vector<Candidate> norm_candidates() {
  return {{&ops::batch_norm_op, "reference:batch_norm", always, make<batch_norm>},
          {&ops::batch_norm_apply_op, "reference:batch_norm_apply", always, make<batch_norm_apply>},
          {&ops::batch_norm_grad_op, "reference:batch_norm_grad", always, make<batch_norm_grad>},
          {&ops::local_response_norm_op, "reference:local_response_norm", always, make<local_response_norm>},
          {&ops::local_response_norm_grad_op, "reference:local_response_norm_grad", always,
           make<local_response_norm_grad>},
          {&ops::l2_penalty_op, "reference:l2_penalty", always, make<l2_penalty>},
          {&ops::l2_penalty_grad_op, "reference:l2_penalty_grad", always, make<l2_penalty_grad>}};
}

}  // namespace trainyard::backend::reference
