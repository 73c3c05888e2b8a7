#include "ops/loss.h"
#include "backend/kernel.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/lane_sums.h"
#include "backend/onednn/runtime/vector_math.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {

namespace {

// Returns the number of rows that are worth a thread of their own, by the number of classes.
std::int64_t row_grain(std::int64_t classes) { return std::max<std::int64_t>(1, 8192 / classes); }

// Probabilities of one row; returns the logarithm of the sum of exponentials plus the maximum.
double softmax_row_softmax_cross_entropy(const float* logits, std::int64_t classes, float* probabilities) {
  const float largest = *std::max_element(logits, logits + classes);
  float sum = 0;
  for (std::int64_t k = 0; k < classes; ++k) {
    probabilities[k] = std::exp(logits[k] - largest);
    sum += probabilities[k];
  }
  const float inverse = 1 / sum;
  for (std::int64_t k = 0; k < classes; ++k) probabilities[k] *= inverse;
  return static_cast<double>(largest) + std::log(static_cast<double>(sum));
}

void run_forward_softmax_cross_entropy(const Arguments& arguments) {
  const Shape& shape = arguments.node.input_shape(0);
  const std::int64_t rows = shape[0], classes = shape[1];
  const double smoothing = arguments.node.attrs<ops::SoftmaxCrossEntropyAttrs>().label_smoothing;
  const auto* labels = arguments.input<std::int32_t>(1);
  auto* row_losses = reinterpret_cast<double*>(arguments.memory.workspace);
  parallel_chunks(rows, row_grain(classes), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n) {
      const float* logits = arguments.input<float>(0) + n * classes;
      const double log_sum =
          softmax_row_softmax_cross_entropy(logits, classes, arguments.output<float>(1) + n * classes);
      const std::int32_t label = labels[n];
      if (label < 0 || label >= classes) {
        row_losses[n] = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      row_losses[n] = log_sum - (1 - smoothing) * static_cast<double>(logits[label]);
      if (smoothing > 0) {
        double mean = 0;
        for (std::int64_t k = 0; k < classes; ++k) mean += static_cast<double>(logits[k]);
        row_losses[n] -= smoothing * mean / static_cast<double>(classes);
      }
    }
  });
  double total = 0;
  for (std::int64_t n = 0; n < rows; ++n) total += row_losses[n];
  *arguments.output<float>(0) = static_cast<float>(total / static_cast<double>(rows));
}

void run_grad_softmax_cross_entropy(const Arguments& arguments) {
  const Shape& shape = arguments.node.input_shape(1);
  const std::int64_t rows = shape[0], classes = shape[1];
  const auto smoothing =
      static_cast<float>(arguments.node.attrs<ops::SoftmaxCrossEntropyAttrs>().label_smoothing);
  const float scale = *arguments.input<float>(0) / static_cast<float>(rows);
  const auto* labels = arguments.input<std::int32_t>(2);
  parallel_chunks(rows, row_grain(classes), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n) {
      const float* probabilities = arguments.input<float>(1) + n * classes;
      float* d_logits = arguments.output<float>(0) + n * classes;
      const float floor = smoothing / static_cast<float>(classes);
      for (std::int64_t k = 0; k < classes; ++k) d_logits[k] = (probabilities[k] - floor) * scale;
      if (labels[n] >= 0 && labels[n] < classes) d_logits[labels[n]] -= (1 - smoothing) * scale;
    }
  });
}

Decision accept_labels(const graph::NodeView& node, int labels) {
  if (node.input(labels).type.dtype != DType::i32) return Decision::no("wants integer labels");
  return wants_f32(node);
}

Decision accept_forward(const KernelRequest& request) {
  if (request.node.outputs() > 2) return Decision::no("makes the gradient apart");
  return accept_labels(request.node, 1);
}
Decision accept_grad(const KernelRequest& request) { return accept_labels(request.node, 2); }

std::unique_ptr<Kernel> make_forward_softmax_cross_entropy(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.workspace_bytes = static_cast<std::size_t>(request.node.input_shape(0)[0]) * sizeof(double);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_forward_softmax_cross_entropy);
}

std::unique_ptr<Kernel> make_grad_softmax_cross_entropy(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.in_place = {{0, 1}};
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_grad_softmax_cross_entropy);
}

// The forward and the backward pass share this: it tells which rows of (T * N, V) count.
struct Steps {
  std::int64_t rows, batch, classes;
  const std::int32_t *labels, *lengths;

  Steps(const Arguments& arguments, int logits)
      : rows(arguments.node.input_shape(logits + 1).elements()),
        batch(arguments.node.input_shape(logits + 1)[1]),
        classes(arguments.node.input_shape(logits).elements() / rows),
        labels(arguments.input<std::int32_t>(logits + 1)),
        lengths(arguments.input<std::int32_t>(logits + 2)) {}

  bool counts(std::int64_t row) const {
    return row / batch < lengths[row % batch] && labels[row] != ops::kNoLabel;
  }
  bool labelled(std::int64_t row) const { return labels[row] >= 0 && labels[row] < classes; }
  // Returns the share of one row in the mean.
  double share() const {
    std::int64_t total = 0;
    for (std::int64_t row = 0; row < rows; ++row) total += counts(row) ? 1 : 0;
    return total == 0 ? 0 : 1 / static_cast<double>(total);
  }
  std::int64_t grain() const { return std::max<std::int64_t>(1, 8192 / classes); }
};

// Returns the logarithm of the sum of exponentials of one row.
double log_sum_of(const float* logits, std::int64_t classes) {
  const float largest = highest_of(logits, classes);
  double sum = 0;
  for (const float lane : lane_sums(classes, [=](std::int64_t k) { return vector_exp(logits[k] - largest); }))
    sum += static_cast<double>(lane);
  return static_cast<double>(largest) + std::log(sum);
}

void run_forward_sequence_cross_entropy(const Arguments& arguments) {
  const Steps steps(arguments, 0);
  auto* row_losses = reinterpret_cast<double*>(arguments.memory.workspace);
  parallel_chunks(steps.rows, steps.grain(), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* logits = arguments.input<float>(0) + row * steps.classes;
      float& log_sum_out = arguments.output<float>(1)[row];
      row_losses[row] = 0;
      log_sum_out = 0;
      if (!steps.counts(row)) continue;
      const double log_sum = log_sum_of(logits, steps.classes);
      log_sum_out = static_cast<float>(log_sum);
      row_losses[row] = steps.labelled(row) ? log_sum - static_cast<double>(logits[steps.labels[row]])
                                            : std::numeric_limits<double>::quiet_NaN();
    }
  });
  double total = 0;
  for (std::int64_t row = 0; row < steps.rows; ++row) total += row_losses[row];
  *arguments.output<float>(0) = static_cast<float>(total * steps.share());
}

void run_grad_sequence_cross_entropy(const Arguments& arguments) {
  const Steps steps(arguments, 1);
  const auto scale = static_cast<float>(static_cast<double>(*arguments.input<float>(0)) * steps.share());
  parallel_chunks(steps.rows, steps.grain(), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* logits = arguments.input<float>(1) + row * steps.classes;
      float* d_logits = arguments.output<float>(0) + row * steps.classes;
      if (!steps.counts(row)) {
        std::fill_n(d_logits, steps.classes, 0.0f);
        continue;
      }
      const float log_sum = arguments.input<float>(4)[row];
#pragma omp simd
      for (std::int64_t k = 0; k < steps.classes; ++k) d_logits[k] = scale * vector_exp(logits[k] - log_sum);
      if (steps.labelled(row)) d_logits[steps.labels[row]] -= scale;
    }
  });
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

std::unique_ptr<Kernel> make_forward_sequence_cross_entropy(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.workspace_bytes = static_cast<std::size_t>(request.node.input_shape(1).elements()) * sizeof(double);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_forward_sequence_cross_entropy);
}

std::unique_ptr<Kernel> make_grad_sequence_cross_entropy(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.in_place = {{0, 1}};
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_grad_sequence_cross_entropy);
}

}  // namespace

std::vector<Candidate> loss_candidates() {
  return {{&ops::softmax_cross_entropy_op, "own:softmax_cross_entropy", accept_forward,
           make_forward_softmax_cross_entropy},
          {&ops::softmax_cross_entropy_grad_op, "own:softmax_cross_entropy_grad", accept_grad,
           make_grad_softmax_cross_entropy},
          {&ops::sequence_cross_entropy_op, "own:sequence_cross_entropy", accept,
           make_forward_sequence_cross_entropy},
          {&ops::sequence_cross_entropy_grad_op, "own:sequence_cross_entropy_grad", accept,
           make_grad_sequence_cross_entropy}};
}

}  // namespace trainyard::backend::onednn
