#include "ops/sequence_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {
namespace {

// Which steps count, and for how much.
class Mask {
 public:
  Mask(const Arguments& args, int lengths, const Shape& labels)
      : lengths_(args.input<std::int32_t>(lengths)), batch_(labels[1]) {
    for (std::int64_t n = 0; n < batch_; ++n) total_ += std::clamp<std::int64_t>(lengths_[n], 0, labels[0]);
  }

  // Rows are counted through all sequences of a step, then through the steps.
  bool counts(std::int64_t row) const { return row / batch_ < lengths_[row % batch_]; }
  double share() const { return total_ == 0 ? 0 : 1 / static_cast<double>(total_); }

 private:
  const std::int32_t* lengths_;
  std::int64_t batch_, total_ = 0;
};

}  // namespace

void sequence_cross_entropy(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const Shape& steps = args.node.input_shape(1);
    const std::int64_t rows = steps.elements(), classes = args.node.input_shape(0).elements() / rows;
    const Mask mask(args, 2, steps);
    const T* logits = args.input<T>(0);
    const auto* labels = args.input<std::int32_t>(1);
    T* probabilities = args.output<T>(1);
    double loss = 0;
    for (std::int64_t row = 0; row < rows; ++row, logits += classes, probabilities += classes) {
      if (!mask.counts(row)) {
        std::fill_n(probabilities, classes, T(0));
        continue;
      }
      const double highest = *std::max_element(logits, logits + classes);
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits[k] - highest);
      for (std::int64_t k = 0; k < classes; ++k)
        probabilities[k] = static_cast<T>(std::exp(logits[k] - highest) / sum);
      // A label that names no class makes the loss NaN.
      const bool known = labels[row] >= 0 && labels[row] < classes;
      loss +=
          known ? highest + std::log(sum) - logits[labels[row]] : std::numeric_limits<double>::quiet_NaN();
    }
    *args.output<T>(0) = static_cast<T>(loss * mask.share());
  });
}

void sequence_cross_entropy_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const Shape& steps = args.node.input_shape(2);
    const std::int64_t rows = steps.elements(), classes = args.node.input_shape(1).elements() / rows;
    const Mask mask(args, 3, steps);
    const double d_row = *args.input<T>(0) * mask.share();
    const T* probabilities = args.input<T>(1);
    const auto* labels = args.input<std::int32_t>(2);
    T* d_logits = args.output<T>(0);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t k = 0; k < classes; ++k) {
        const std::int64_t i = row * classes + k;
        const double error = probabilities[i] - (labels[row] == k ? 1.0 : 0.0);
        d_logits[i] = static_cast<T>(mask.counts(row) ? d_row * error : 0);
      }
  });
}

}  // namespace trainyard::backend::reference
