#include "ops/classify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/reference/functions.h"
#include "base/philox.h"

namespace trainyard::backend::reference {

void classify(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::ClassifyAttrs>();
    const std::int64_t rows = args.node.input_shape(0)[0], inputs = args.node.input_shape(0)[1];
    const std::int64_t classes = args.node.input_shape(1)[0];
    const T *src = args.input<T>(0), *weight = args.input<T>(1), *bias = args.input<T>(2);
    const auto* labels = args.input<std::int32_t>(3);
    if (attrs.dropout.rate > 0) {
      const Philox random(args.context.seed,
                          mix_streams(static_cast<std::uint64_t>(args.context.step), attrs.dropout.stream));
      T* dropped = args.output<T>(5);
      for (std::int64_t i = 0; i < rows * inputs; ++i)
        dropped[i] = to_unit_float(random.word(static_cast<std::uint64_t>(i))) >=
                             static_cast<float>(attrs.dropout.rate)
                         ? static_cast<T>(1 / (1 - attrs.dropout.rate)) * src[i]
                         : T(0);
      src = dropped;
    }
    T *logits = args.output<T>(0), *probabilities = args.output<T>(2), *d_logits = args.output<T>(3);
    double loss = 0;
    for (std::int64_t n = 0; n < rows; ++n) {
      const std::int64_t row = n * classes;
      for (std::int64_t k = 0; k < classes; ++k) {
        double sum = bias[k];
        for (std::int64_t c = 0; c < inputs; ++c)
          sum += static_cast<double>(src[n * inputs + c]) * weight[k * inputs + c];
        logits[row + k] = static_cast<T>(sum);
      }
      const double highest = *std::max_element(logits + row, logits + row + classes);
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits[row + k] - highest);
      const bool named = labels[n] >= 0 && labels[n] < classes;  // else the row is NaN
      for (std::int64_t k = 0; k < classes; ++k) {
        const double log_probability = logits[row + k] - highest - std::log(sum);
        const double label = !named ? std::numeric_limits<double>::quiet_NaN() : labels[n] == k ? 1 : 0;
        const double target =
            (1 - attrs.label_smoothing) * label + attrs.label_smoothing / static_cast<double>(classes);
        probabilities[row + k] = static_cast<T>(std::exp(log_probability));
        d_logits[row + k] = static_cast<T>((std::exp(log_probability) - target) / static_cast<double>(rows));
        if (target != 0) loss -= target * log_probability;
      }
      for (std::int64_t c = 0; c < inputs; ++c) {
        double back = 0;
        for (std::int64_t k = 0; k < classes; ++k)
          back += static_cast<double>(d_logits[row + k]) * weight[k * inputs + c];
        if (attrs.mask_scale != 0) back = src[n * inputs + c] > 0 ? back * attrs.mask_scale : 0;
        args.output<T>(4)[n * inputs + c] = static_cast<T>(back);
      }
    }
    *args.output<T>(1) = static_cast<T>(loss / static_cast<double>(rows));
  });
}

}  // namespace trainyard::backend::reference
