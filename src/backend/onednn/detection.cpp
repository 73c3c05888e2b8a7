#include "ops/detection.h"

#include <atomic>

#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {

namespace {

using ops::AnchorTarget;

// Channels last, the numbers of a level's anchors lie in each image as they do in the rows.
std::size_t floats_of_image(const Shape& level) { return static_cast<std::size_t>(level.elements_from(1)); }

void run_anchor_rows(const Arguments& arguments) {
  const Shape& rows = arguments.node.output_shape(0);
  const std::int64_t images = arguments.node.input_shape(0)[0], of_image = rows.elements() / images;
  parallel_chunks(images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n) {
      float* to = arguments.output<float>(0) + n * of_image;
      for (int i = 0; i < arguments.node.inputs(); ++i) {
        const std::size_t floats = floats_of_image(arguments.node.input_shape(i));
        to = std::copy_n(arguments.input<float>(i) + n * static_cast<std::int64_t>(floats), floats, to);
      }
    }
  });
}

void run_d_src_anchor_rows(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::AnchorRowsGradAttrs>();
  const Shape& rows = arguments.node.input_shape(0);
  const std::int64_t images = attrs.level[0], of_image = rows.elements() / images;
  const std::size_t floats = floats_of_image(attrs.level);
  parallel_chunks(images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n)
      std::copy_n(arguments.input<float>(0) + n * of_image + attrs.first * rows[1], floats,
                  arguments.output<float>(0) + n * static_cast<std::int64_t>(floats));
  });
}

Decision accept_rows(const KernelRequest& request) { return wants_f32(request.node); }

std::unique_ptr<Kernel> make_anchor_rows(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  std::fill(io.inputs.begin(), io.inputs.end(), Layout::channels_last(4));
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_anchor_rows);
}

std::unique_ptr<Kernel> make_d_src_anchor_rows(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.outputs[0] = Layout::channels_last(4);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_d_src_anchor_rows);
}

constexpr std::int64_t kAnchorsAtOnce = 1024;

// Each chunk counts the anchors that found a box; sums of whole numbers have no order.
void run_match_anchors(const Arguments& arguments) {
  const ops::Anchors& anchors = arguments.node.attrs<ops::MatchAnchorsAttrs>().anchors;
  const Shape& boxes = arguments.node.input_shape(0);
  const std::int64_t of_image = anchors.count(), rows = of_image * boxes[0];
  std::atomic<std::int64_t> found = 0;
  parallel_chunks(rows, kAnchorsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
    std::int64_t of_chunk = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      const AnchorTarget target = ops::match_anchor(
          anchors.box(row % of_image),
          arguments.input<std::int32_t>(0) + row / of_image * boxes[1] * ops::kBoxNumbers, boxes[1]);
      arguments.output<std::int32_t>(0)[row] = target.label;
      for (int i = 0; i < 4; ++i)
        arguments.output<float>(1)[4 * row + i] = static_cast<float>(target.offsets[i]);
      of_chunk += target.label >= 0 ? 1 : 0;
    }
    found += of_chunk;
  });
  *arguments.output<float>(2) = static_cast<float>(1 / static_cast<double>(std::max<std::int64_t>(found, 1)));
}

Decision accept_match(const KernelRequest& request) {
  if (request.node.output(1).type.dtype != DType::f32) return Decision::no("makes f32");
  return Decision::yes();
}

// The loss of one number and its derivative; u is one less the probability of what is right.
struct Focal {
  float loss, d_logit;

  Focal(float logit, bool right, float alpha, float gamma) {
    const float z = right ? logit : -logit, a = right ? alpha : 1 - alpha, e = std::exp(-std::abs(z)),
                minus_log = std::max(-z, 0.0f) + std::log1p(e), u = (z > 0 ? e : 1) / (1 + e),
                power = a * (gamma == 2 ? u * u : std::pow(u, gamma));
    loss = power * minus_log;
    d_logit = (right ? -power : power) * (gamma * (1 - u) * minus_log + u);
  }
};

// The forward and the backward pass share this. `logits`: the input that they are; labels and share follow.
struct FocalRows {
  std::int64_t rows, classes;
  float alpha, gamma, share;
  const float* logits;
  const std::int32_t* labels;

  FocalRows(const Arguments& arguments, int at)
      : rows(arguments.node.input_shape(at)[0]),
        classes(arguments.node.input_shape(at)[1]),
        alpha(static_cast<float>(arguments.node.attrs<ops::FocalLossAttrs>().alpha)),
        gamma(static_cast<float>(arguments.node.attrs<ops::FocalLossAttrs>().gamma)),
        share(*arguments.input<float>(at + 2)),
        logits(arguments.input<float>(at)),
        labels(arguments.input<std::int32_t>(at + 1)) {}

  Focal at(std::int64_t row, std::int64_t k) const {
    return {logits[row * classes + k], labels[row] == k, alpha, gamma};
  }
  bool counts(std::int64_t row) const { return labels[row] != AnchorTarget::kPassedOver; }
  std::int64_t grain() const { return std::max<std::int64_t>(1, 4096 / classes); }
};

void run_focal_loss(const Arguments& arguments) {
  const FocalRows in(arguments, 0);
  auto* row_losses = reinterpret_cast<double*>(arguments.memory.workspace);
  parallel_chunks(in.rows, in.grain(), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      double sum = in.labels[row] >= in.classes ? std::numeric_limits<double>::quiet_NaN() : 0;
      for (std::int64_t k = 0; in.counts(row) && k < in.classes; ++k)
        sum += static_cast<double>(in.at(row, k).loss);
      row_losses[row] = sum;
    }
  });
  *arguments.output<float>(0) = static_cast<float>(std::accumulate(row_losses, row_losses + in.rows, 0.0) *
                                                   static_cast<double>(in.share));
}

void run_grad_focal_loss(const Arguments& arguments) {
  const FocalRows in(arguments, 1);
  const float scale = *arguments.input<float>(0) * in.share;
  parallel_chunks(in.rows, in.grain(), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* d_logits = arguments.output<float>(0) + row * in.classes;
      for (std::int64_t k = 0; k < in.classes; ++k)
        d_logits[k] = in.counts(row) ? scale * in.at(row, k).d_logit : 0;
    }
  });
}

// `at`: the input that the offsets are; targets, labels and share follow.
struct BoxRows {
  std::int64_t rows;
  float beta, share;
  const float *offsets, *targets;
  const std::int32_t* labels;

  BoxRows(const Arguments& arguments, int at)
      : rows(arguments.node.input_shape(at)[0]),
        beta(static_cast<float>(arguments.node.attrs<ops::BoxLossAttrs>().beta)),
        share(*arguments.input<float>(at + 3)),
        offsets(arguments.input<float>(at)),
        targets(arguments.input<float>(at + 1)),
        labels(arguments.input<std::int32_t>(at + 2)) {}

  float difference(std::int64_t i) const { return offsets[i] - targets[i]; }
};

void run_box_loss(const Arguments& arguments) {
  const BoxRows in(arguments, 0);
  double sum = 0;
  for (std::int64_t row = 0; row < in.rows; ++row)
    for (std::int64_t i = 4 * row; in.labels[row] >= 0 && i < 4 * row + 4; ++i) {
      const float d = std::abs(in.difference(i));
      sum += static_cast<double>(d < in.beta ? d * d / (2 * in.beta) : d - in.beta / 2);
    }
  *arguments.output<float>(0) = static_cast<float>(sum * static_cast<double>(in.share));
}

void run_grad_box_loss(const Arguments& arguments) {
  const BoxRows in(arguments, 1);
  const float scale = *arguments.input<float>(0) * in.share;
  for (std::int64_t i = 0; i < 4 * in.rows; ++i)
    arguments.output<float>(0)[i] =
        in.labels[i / 4] < 0 ? 0 : scale * std::clamp(in.difference(i) / in.beta, -1.0f, 1.0f);
}

Decision accept_loss(const KernelRequest& request) { return wants_f32(request.node); }

std::unique_ptr<Kernel> make_focal_loss(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.workspace_bytes = static_cast<std::size_t>(request.node.input_shape(0)[0]) * sizeof(double);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_focal_loss);
}

template <KernelFunction function>
std::unique_ptr<Kernel> make_detection(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, plain_io(request.node), function);
}

}  // namespace

std::vector<Candidate> detection_candidates() {
  return {{&ops::anchor_rows_op, "own:anchor_rows", accept_rows, make_anchor_rows},
          {&ops::anchor_rows_d_src_op, "own:anchor_rows_d_src", accept_rows, make_d_src_anchor_rows},
          {&ops::match_anchors_op, "own:match_anchors", accept_match, make_detection<run_match_anchors>},
          {&ops::focal_loss_op, "own:focal_loss", accept_loss, make_focal_loss},
          {&ops::focal_loss_grad_op, "own:focal_loss_grad", accept_loss, make_detection<run_grad_focal_loss>},
          {&ops::box_loss_op, "own:box_loss", accept_loss, make_detection<run_box_loss>},
          {&ops::box_loss_grad_op, "own:box_loss_grad", accept_loss, make_detection<run_grad_box_loss>}};
}

}  // namespace trainyard::backend::onednn
