#include "ops/detection.h"
#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

using ops::AnchorTarget;

// Calls body(row of the matrix, channel of the level, pixel, level's image) for each anchor of a level.
template <typename Body>
void for_anchors(const Shape& level, std::int64_t of_image, std::int64_t first, const Body& body) {
  const std::int64_t pixels = level[2] * level[3], numbers = level[1] / ops::Anchors::kShapes;
  for (std::int64_t n = 0; n < level[0]; ++n)
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      for (std::int64_t shape = 0; shape < ops::Anchors::kShapes; ++shape)
        for (std::int64_t k = 0; k < numbers; ++k) {
          const std::int64_t row = n * of_image + first + pixel * ops::Anchors::kShapes + shape;
          body(row * numbers + k, (n * level[1] + shape * numbers + k) * pixels + pixel);
        }
}

void anchor_rows(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t of_image = args.node.output_shape(0)[0] / args.node.input_shape(0)[0];
    std::int64_t first = 0;
    for (int i = 0; i < args.node.inputs(); ++i) {
      const Shape& level = args.node.input_shape(i);
      for_anchors(level, of_image, first, [&](std::int64_t to, std::int64_t from) {
        args.output<T>(0)[to] = args.input<T>(i)[from];
      });
      first += level[2] * level[3] * ops::Anchors::kShapes;
    }
  });
}

void anchor_rows_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::AnchorRowsGradAttrs>();
    const std::int64_t of_image = args.node.input_shape(0)[0] / attrs.level[0];
    for_anchors(attrs.level, of_image, attrs.first,
                [&](std::int64_t from, std::int64_t to) { args.output<T>(0)[to] = args.input<T>(0)[from]; });
  });
}

void match_anchors(const Arguments& args) {
  with_float_type(args.node.output(1).type.dtype, [&]<typename T>() {
    const ops::Anchors& anchors = args.node.attrs<ops::MatchAnchorsAttrs>().anchors;
    const Shape& boxes = args.node.input_shape(0);
    std::int64_t row = 0, found = 0;
    for (std::int64_t n = 0; n < boxes[0]; ++n)
      for (std::int64_t anchor = 0; anchor < anchors.count(); ++anchor, ++row) {
        const AnchorTarget target = ops::match_anchor(
            anchors.box(anchor), args.input<std::int32_t>(0) + n * boxes[1] * ops::kBoxNumbers, boxes[1]);
        args.output<std::int32_t>(0)[row] = target.label;
        for (int i = 0; i < 4; ++i) args.output<T>(1)[4 * row + i] = static_cast<T>(target.offsets[i]);
        found += target.label >= 0 ? 1 : 0;
      }
    *args.output<T>(2) = static_cast<T>(1 / static_cast<double>(std::max<std::int64_t>(found, 1)));
  });
}

// The loss of one number and its derivative. With u = 1 - p of what is right: a u^gamma (-log p).
struct Focal {
  double loss, d_logit;

  Focal(double logit, bool right, const ops::FocalLossAttrs& attrs) {
    const double sign = right ? 1 : -1, z = sign * logit, a = right ? attrs.alpha : 1 - attrs.alpha,
                 minus_log = std::max(-z, 0.0) + std::log1p(std::exp(-std::abs(z))), p = std::exp(-minus_log),
                 u = 1 / (1 + std::exp(z)), power = std::pow(u, attrs.gamma);
    loss = a * power * minus_log;
    d_logit = -sign * a * power * (attrs.gamma * p * minus_log + u);
  }
};

void focal_loss(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::FocalLossAttrs>();
    const Shape& logits = args.node.input_shape(0);
    const auto* labels = args.input<std::int32_t>(1);
    double sum = 0;
    for (std::int64_t row = 0; row < logits[0]; ++row) {
      if (labels[row] == AnchorTarget::kPassedOver) continue;
      if (labels[row] >= logits[1]) sum = std::numeric_limits<double>::quiet_NaN();
      for (std::int64_t k = 0; k < logits[1]; ++k)
        sum += Focal(args.input<T>(0)[row * logits[1] + k], labels[row] == k, attrs).loss;
    }
    *args.output<T>(0) = static_cast<T>(sum * *args.input<T>(2));
  });
}

void focal_loss_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::FocalLossAttrs>();
    const Shape& logits = args.node.input_shape(1);
    const auto* labels = args.input<std::int32_t>(2);
    const double scale = static_cast<double>(*args.input<T>(0)) * *args.input<T>(3);
    for (std::int64_t row = 0; row < logits[0]; ++row)
      for (std::int64_t k = 0; k < logits[1]; ++k) {
        const std::int64_t i = row * logits[1] + k;
        const Focal focal(args.input<T>(1)[i], labels[row] == k, attrs);
        args.output<T>(0)[i] =
            static_cast<T>(labels[row] == AnchorTarget::kPassedOver ? 0 : scale * focal.d_logit);
      }
  });
}

void box_loss(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const double beta = args.node.attrs<ops::BoxLossAttrs>().beta;
    double sum = 0;
    for (std::int64_t i = 0; i < args.node.input_shape(0).elements(); ++i) {
      if (args.input<std::int32_t>(2)[i / 4] < 0) continue;
      const double d = std::abs(static_cast<double>(args.input<T>(0)[i]) - args.input<T>(1)[i]);
      sum += d < beta ? d * d / (2 * beta) : d - beta / 2;
    }
    *args.output<T>(0) = static_cast<T>(sum * *args.input<T>(3));
  });
}

void box_loss_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const double beta = args.node.attrs<ops::BoxLossAttrs>().beta,
                 scale = static_cast<double>(*args.input<T>(0)) * *args.input<T>(4);
    for (std::int64_t i = 0; i < args.node.input_shape(1).elements(); ++i) {
      const double d = static_cast<double>(args.input<T>(1)[i]) - args.input<T>(2)[i];
      args.output<T>(0)[i] = static_cast<T>(
          args.input<std::int32_t>(3)[i / 4] < 0 ? 0 : scale * std::clamp(d / beta, -1.0, 1.0));
    }
  });
}

}  // namespace

std::vector<Candidate> detection_candidates() {
  return {{&ops::anchor_rows_op, "reference:anchor_rows", always, make<anchor_rows>},
          {&ops::anchor_rows_d_src_op, "reference:anchor_rows_d_src", always, make<anchor_rows_d_src>},
          {&ops::match_anchors_op, "reference:match_anchors", always, make<match_anchors>},
          {&ops::focal_loss_op, "reference:focal_loss", always, make<focal_loss>},
          {&ops::focal_loss_grad_op, "reference:focal_loss_grad", always, make<focal_loss_grad>},
          {&ops::box_loss_op, "reference:box_loss", always, make<box_loss>},
          {&ops::box_loss_grad_op, "reference:box_loss_grad", always, make<box_loss_grad>}};
}

}  // namespace trainyard::backend::reference
