#include "ops/smooth_unit.h"

#include <numbers>

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

struct ValueAndSlope {
  double value, slope;
};

ValueAndSlope smooth(ops::SmoothKind kind, double x) {
  switch (kind) {
    case ops::SmoothKind::gelu: {
      const double share = 0.5 * std::erfc(-x / std::numbers::sqrt2);
      const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      return {x * share, share + x * density};
    }
    case ops::SmoothKind::gelu_tanh: {
      const double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, cubic = 0.044715;
      const double t = std::tanh(root * (x + cubic * x * x * x));
      return {0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * cubic * x * x)};
    }
    case ops::SmoothKind::silu: {
      const double share = 1 / (1 + std::exp(-x));
      return {x * share, share * (1 + x * (1 - share))};
    }
  }
  return {};
}

void smooth_unit(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::SmoothUnitAttrs>();
    const std::int64_t elements = args.node.output_shape(0).elements();
    const std::int64_t width = attrs.gated ? args.node.output_shape(0)[1] : elements;
    const T* src = args.input<T>(0);
    T* dst = args.output<T>(0);
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::int64_t a = attrs.gated ? i / width * 2 * width + i % width : i;
      const double gate = attrs.gated ? src[a + width] : T(1);
      dst[i] = static_cast<T>(smooth(attrs.kind, src[a]).value * gate);
    }
  });
}

void smooth_unit_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::SmoothUnitAttrs>();
    const std::int64_t elements = args.node.input_shape(0).elements();
    const std::int64_t width = attrs.gated ? args.node.input_shape(0)[1] : elements;
    const T *d_dst = args.input<T>(0), *src = args.input<T>(1);
    T* d_src = args.output<T>(0);
    const std::int64_t columns = attrs.column_sums ? args.node.input_shape(1)[1] : 1;
    std::vector<double> sums(static_cast<std::size_t>(columns));
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::int64_t a = attrs.gated ? i / width * 2 * width + i % width : i;
      const ValueAndSlope at = smooth(attrs.kind, src[a]);
      const double d = d_dst[i], gate = attrs.gated ? src[a + width] : T(1);
      d_src[a] = static_cast<T>(d * gate * at.slope);
      sums[static_cast<std::size_t>(i % columns)] += d * gate * at.slope;
      if (attrs.gated) d_src[a + width] = static_cast<T>(d * at.value);
    }
    if (attrs.column_sums)
      std::transform(sums.begin(), sums.end(), args.output<T>(1), [](double x) { return static_cast<T>(x); });
  });
}

}  // namespace

std::vector<Candidate> smooth_unit_candidates() {
  return {{&ops::smooth_unit_op, "reference:smooth_unit", always, make<smooth_unit>},
          {&ops::smooth_unit_grad_op, "reference:smooth_unit_grad", always, make<smooth_unit_grad>}};
}

}  // namespace trainyard::backend::reference
