#include "ops/loss.h"
#include "backend/reference/backend.h"
#include "base/philox.h"

namespace trainyard::backend::reference {

namespace {

void softmax(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.input_shape(0)[0], classes = args.node.input_shape(0)[1];
    const T* src = args.input<T>(0);
    T* dst = args.output<T>(0);
    for (std::int64_t n = 0; n < rows; ++n, src += classes, dst += classes) {
      // The highest is taken off first, so that no exponential overflows.
      const double highest = *std::max_element(src, src + classes);
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(src[k] - highest);
      for (std::int64_t k = 0; k < classes; ++k) dst[k] = static_cast<T>(std::exp(src[k] - highest) / sum);
    }
  });
}

void softmax_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.input_shape(0)[0], classes = args.node.input_shape(0)[1];
    const T *d_dst = args.input<T>(0), *dst = args.input<T>(1);
    T* d_src = args.output<T>(0);
    for (std::int64_t n = 0; n < rows; ++n, d_dst += classes, dst += classes, d_src += classes) {
      double mean = 0;
      for (std::int64_t k = 0; k < classes; ++k) mean += static_cast<double>(d_dst[k]) * dst[k];
      for (std::int64_t k = 0; k < classes; ++k) d_src[k] = static_cast<T>(dst[k] * (d_dst[k] - mean));
    }
  });
}

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

// Tells which steps count, and how much each of them counts.
class Mask {
 public:
  // `labels`: the input that they are; lengths follow it.
  Mask(const Arguments& args, int labels)
      : labels_(args.input<std::int32_t>(labels)),
        lengths_(args.input<std::int32_t>(labels + 1)),
        batch_(args.node.input_shape(labels)[1]) {
    for (std::int64_t row = 0; row < args.node.input_shape(labels).elements(); ++row)
      total_ += counts(row) ? 1 : 0;
  }

  // Rows are counted through all sequences of a step, then through the steps.
  bool counts(std::int64_t row) const {
    return row / batch_ < lengths_[row % batch_] && labels_[row] != ops::kNoLabel;
  }
  double share() const { return total_ == 0 ? 0 : 1 / static_cast<double>(total_); }

 private:
  const std::int32_t *labels_, *lengths_;
  std::int64_t batch_, total_ = 0;
};

void sequence_cross_entropy(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const Shape& steps = args.node.input_shape(1);
    const std::int64_t rows = steps.elements(), classes = args.node.input_shape(0).elements() / rows;
    const Mask mask(args, 1);
    const T* logits = args.input<T>(0);
    const auto* labels = args.input<std::int32_t>(1);
    T* log_sums = args.output<T>(1);
    double loss = 0;
    for (std::int64_t row = 0; row < rows; ++row, logits += classes) {
      log_sums[row] = T(0);
      if (!mask.counts(row)) continue;
      const double highest = *std::max_element(logits, logits + classes);
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits[k] - highest);
      const double log_sum = highest + std::log(sum);
      log_sums[row] = static_cast<T>(log_sum);
      // A label that names no class makes the loss NaN.
      const bool known = labels[row] >= 0 && labels[row] < classes;
      loss += known ? log_sum - logits[labels[row]] : std::numeric_limits<double>::quiet_NaN();
    }
    *args.output<T>(0) = static_cast<T>(loss * mask.share());
  });
}

void sequence_cross_entropy_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const Shape& steps = args.node.input_shape(2);
    const std::int64_t rows = steps.elements(), classes = args.node.input_shape(1).elements() / rows;
    const Mask mask(args, 2);
    const double d_row = *args.input<T>(0) * mask.share();
    const T *logits = args.input<T>(1), *log_sums = args.input<T>(4);
    const auto* labels = args.input<std::int32_t>(2);
    T* d_logits = args.output<T>(0);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t k = 0; k < classes; ++k) {
        const std::int64_t i = row * classes + k;
        const double error =
            std::exp(static_cast<double>(logits[i]) - log_sums[row]) - (labels[row] == k ? 1.0 : 0.0);
        d_logits[i] = static_cast<T>(mask.counts(row) ? d_row * error : 0);
      }
  });
}

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

}  // namespace

std::vector<Candidate> loss_candidates() {
  return {{&ops::softmax_op, "reference:softmax", always, make<softmax>},
          {&ops::softmax_grad_op, "reference:softmax_grad", always, make<softmax_grad>},
          {&ops::softmax_cross_entropy_op, "reference:softmax_cross_entropy", always,
           make<softmax_cross_entropy>},
          {&ops::softmax_cross_entropy_grad_op, "reference:softmax_cross_entropy_grad", always,
           make<softmax_cross_entropy_grad>},
          {&ops::sequence_cross_entropy_op, "reference:sequence_cross_entropy", always,
           make<sequence_cross_entropy>},
          {&ops::sequence_cross_entropy_grad_op, "reference:sequence_cross_entropy_grad", always,
           make<sequence_cross_entropy_grad>},
          {&ops::classify_op, "reference:classify", always, make<classify>}};
}

}  // namespace trainyard::backend::reference
