#include "ops/layer_norm.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

// Returns `sum`.
template <typename T>
const T* add(const T* a, const T* b, std::int64_t elements, T* sum) {
  std::transform(a, a + elements, b, sum, std::plus<>());
  return sum;
}

void layer_norm(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::LayerNormAttrs>();
    const std::int64_t rows = args.node.input_shape(0)[0], channels = args.node.input_shape(0)[1];
    const auto count = static_cast<double>(channels);
    const T *src = args.input<T>(0), *gamma = args.input<T>(1);
    if (attrs.adds)
      src = add(src, args.input<T>(args.node.inputs() - 1), rows * channels,
                args.output<T>(args.node.outputs() - 1));
    T* dst = args.output<T>(0);
    for (std::int64_t r = 0; r < rows; ++r, src += channels, dst += channels) {
      double mean = 0, squares = 0;
      if (attrs.centred) mean = std::accumulate(src, src + channels, 0.0) / count;
      for (std::int64_t c = 0; c < channels; ++c) squares += (src[c] - mean) * (src[c] - mean);
      const double inverse = 1 / std::sqrt(squares / count + attrs.epsilon);
      for (std::int64_t c = 0; c < channels; ++c)
        dst[c] = static_cast<T>((src[c] - mean) * inverse * gamma[c] +
                                (attrs.centred ? static_cast<double>(args.input<T>(2)[c]) : 0.0));
      args.output<T>(1)[r] = static_cast<T>(inverse);
      if (attrs.centred) args.output<T>(2)[r] = static_cast<T>(mean);
    }
  });
}

// With z the normalised row and g = d_dst * gamma: d_src = inverse (g - mean(g) - z mean(g z)), the first
// mean only where the row is centred. What is added to d_src follows.
void layer_norm_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::LayerNormAttrs>();
    const bool centred = attrs.centred;
    const std::int64_t rows = args.node.input_shape(1)[0], channels = args.node.input_shape(1)[1];
    const auto count = static_cast<double>(channels);
    const T *d_dst = args.input<T>(0), *src = args.input<T>(1), *gamma = args.input<T>(2);
    const T* term = attrs.adds ? args.input<T>(args.node.inputs() - 1) : nullptr;
    T* d_src = args.output<T>(0);
    std::vector<double> d_gamma(static_cast<std::size_t>(channels)), d_beta(d_gamma), columns(d_gamma);
    for (std::int64_t r = 0; r < rows; ++r, d_dst += channels, src += channels, d_src += channels) {
      const double inverse = args.input<T>(3)[r], mean = centred ? args.input<T>(4)[r] : T(0);
      double sum = 0, sum_normal = 0;
      for (std::int64_t c = 0; c < channels; ++c) {
        const double normal = (src[c] - mean) * inverse, g = static_cast<double>(d_dst[c]) * gamma[c];
        d_gamma[static_cast<std::size_t>(c)] += d_dst[c] * normal;
        d_beta[static_cast<std::size_t>(c)] += d_dst[c];
        sum += g;
        sum_normal += g * normal;
      }
      for (std::int64_t c = 0; c < channels; ++c) {
        const double normal = (src[c] - mean) * inverse, g = static_cast<double>(d_dst[c]) * gamma[c];
        double d = inverse * (g - (centred ? sum / count : 0.0) - normal * sum_normal / count);
        if (attrs.adds) d += term[r * channels + c];
        columns[static_cast<std::size_t>(c)] += d;
        d_src[c] = static_cast<T>(d);
      }
    }
    const auto round = [](double x) { return static_cast<T>(x); };
    std::transform(d_gamma.begin(), d_gamma.end(), args.output<T>(1), round);
    if (centred) std::transform(d_beta.begin(), d_beta.end(), args.output<T>(2), round);
    if (attrs.column_sums)
      std::transform(columns.begin(), columns.end(), args.output<T>(args.node.outputs() - 1), round);
  });
}

}  // namespace

std::vector<Candidate> layer_norm_candidates() {
  return {{&ops::layer_norm_op, "reference:layer_norm", always, make<layer_norm>},
          {&ops::layer_norm_grad_op, "reference:layer_norm_grad", always, make<layer_norm_grad>}};
}

}  // namespace trainyard::backend::reference
