#include "ops/softmax_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {
namespace {

// The smoothed share of class k in row n. A label that names no class makes the row, and with it the loss,
// NaN: a kernel cannot refuse, and nothing may be read out of bounds.
template <typename T>
class Targets {
 public:
  Targets(const Arguments& args, int input, std::int64_t classes)
      : smoothing_(args.node.attrs<ops::SoftmaxCrossEntropyAttrs>().label_smoothing), classes_(classes) {
    if (args.node.input(input).type.dtype == DType::i32)
      integers_ = args.input<std::int32_t>(input);
    else
      soft_ = args.input<T>(input);
  }

  double at(std::int64_t n, std::int64_t k) const {
    return (1 - smoothing_) * label(n, k) + smoothing_ / static_cast<double>(classes_);
  }

 private:
  double label(std::int64_t n, std::int64_t k) const {
    if (soft_ != nullptr) return soft_[n * classes_ + k];
    if (integers_[n] < 0 || integers_[n] >= classes_) return std::numeric_limits<double>::quiet_NaN();
    return integers_[n] == k ? 1 : 0;
  }

  double smoothing_;
  std::int64_t classes_;
  const std::int32_t* integers_ = nullptr;
  const T* soft_ = nullptr;
};

}  // namespace

void softmax_cross_entropy(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.input_shape(0)[0], classes = args.node.input_shape(0)[1];
    const Targets<T> targets(args, 1, classes);
    const T* logits = args.input<T>(0);
    T* probabilities = args.output<T>(1);
    double loss = 0;
    for (std::int64_t n = 0; n < rows; ++n, logits += classes, probabilities += classes) {
      const double highest = *std::max_element(logits, logits + classes);
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits[k] - highest);
      for (std::int64_t k = 0; k < classes; ++k) {
        const double log_probability = logits[k] - highest - std::log(sum);
        probabilities[k] = static_cast<T>(std::exp(log_probability));
        const double target = targets.at(n, k);
        if (target != 0) loss -= target * log_probability;
        if (args.node.outputs() == 3)
          args.output<T>(2)[n * classes + k] =
              static_cast<T>((std::exp(log_probability) - target) / static_cast<double>(rows));
      }
    }
    *args.output<T>(0) = static_cast<T>(loss / static_cast<double>(rows));
  });
}

void softmax_cross_entropy_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.input_shape(1)[0], classes = args.node.input_shape(1)[1];
    const Targets<T> targets(args, 2, classes);
    const double d_row = *args.input<T>(0) / static_cast<double>(rows);
    const T* probabilities = args.input<T>(1);
    T* d_logits = args.output<T>(0);
    for (std::int64_t n = 0; n < rows; ++n)
      for (std::int64_t k = 0; k < classes; ++k) {
        const std::int64_t i = n * classes + k;
        d_logits[i] = static_cast<T>(d_row * (probabilities[i] - targets.at(n, k)));
      }
  });
}

}  // namespace trainyard::backend::reference
