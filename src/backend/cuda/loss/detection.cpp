#include "ops/detection.h"
#include "backend/cuda/loss/detection_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

// Channels last, the numbers of a level's anchors lie in each image as they do in the rows.
void anchor_rows(const Launch& launch) {
  const graph::NodeView& node = launch.node;
  const std::int64_t images = node.input_shape(0)[0], of_image = node.output(0).type.bytes() / images;
  std::int64_t first = 0;
  for (int i = 0; i < node.inputs(); ++i) {
    const std::int64_t bytes = node.input(i).type.bytes() / images;
    device::copy_blocks(launch.stream(), {images, bytes, bytes, of_image}, launch.input<std::byte>(i),
                        launch.output<std::byte>(0) + first);
    first += bytes;
  }
}

void anchor_rows_d_src(const Launch& launch) {
  const graph::NodeView& node = launch.node;
  const auto& attrs = node.attrs<ops::AnchorRowsGradAttrs>();
  const std::int64_t images = attrs.level[0], of_image = node.input(0).type.bytes() / images,
                     bytes = node.output(0).type.bytes() / images,
                     of_row = node.input(0).type.bytes() / node.input_shape(0)[0];
  device::copy_blocks(launch.stream(), {images, bytes, of_image, bytes},
                      launch.input<std::byte>(0) + attrs.first * of_row, launch.output<std::byte>(0));
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make_rows(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

// The sums of blocks lie in the workspace, and the last block to finish adds them up.
using SumFunction = void (*)(const Launch&, const device::PartialSums&);

class SumKernel final : public Kernel {
 public:
  SumKernel(const KernelRequest& request, SumFunction function)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        counter_(device_),
        function_(function) {
    io_.workspace_bytes = device::PartialSums::kMostParts * sizeof(float);
  }
  void bind(const Binding& binding) override { binding_ = binding; }
  void run(const StepContext&) override {
    const Launch at{node_, io_, binding_, device_};
    function_(at, {at.workspace<float>(), counter_.get()});
  }

 private:
  graph::NodeView node_;
  Context& device_;
  BlockCounter counter_;
  SumFunction function_;
  Binding binding_;
};

template <SumFunction function>
std::unique_ptr<Kernel> make_sum(const KernelRequest& request) {
  return std::make_unique<SumKernel>(request, function);
}

void match_anchors(const Launch& at, const device::PartialSums& sums) {
  const Shape& boxes = at.node.input_shape(0);
  device::match_anchors(at.stream(),
                        {.anchors = at.node.attrs<ops::MatchAnchorsAttrs>().anchors,
                         .images = boxes[0],
                         .most = boxes[1],
                         .boxes = at.input<std::int32_t>(0),
                         .labels = at.output<std::int32_t>(0),
                         .targets = at.output<float>(1),
                         .share = at.output<float>(2)},
                        sums);
}

Decision accept_match(const KernelRequest& request) {
  if (request.node.output(1).type.dtype != DType::f32) return Decision::no("makes f32");
  return Decision::yes();
}

// `first`: the input that the logits are; labels and share follow.
template <typename T>
device::FocalLoss<T> focal_of(const Launch& at, int first) {
  const auto& attrs = at.node.attrs<ops::FocalLossAttrs>();
  const Shape& logits = at.node.input_shape(first);
  return {.rows = logits[0],
          .classes = logits[1],
          .alpha = static_cast<float>(attrs.alpha),
          .gamma = static_cast<float>(attrs.gamma),
          .logits = at.input<T>(first),
          .labels = at.input<std::int32_t>(first + 1),
          .share = at.input<float>(first + 2)};
}

void focal_loss(const Launch& at, const device::PartialSums& sums) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::focal_loss<T>(at.stream(), focal_of<T>(at, 0), at.output<float>(0), sums);
  });
}

void focal_loss_grad(const Launch& at) {
  with_float_type(at.node.output(0).type.dtype, [&]<typename T>() {
    device::focal_loss_grad<T>(at.stream(), focal_of<T>(at, 1), at.input<float>(0), at.output<T>(0));
  });
}

// `first`: the input that the offsets are; targets, labels and share follow.
template <typename T>
device::BoxLoss<T> box_of(const Launch& at, int first) {
  return {.rows = at.node.input_shape(first)[0],
          .beta = static_cast<float>(at.node.attrs<ops::BoxLossAttrs>().beta),
          .offsets = at.input<T>(first),
          .targets = at.input<float>(first + 1),
          .labels = at.input<std::int32_t>(first + 2),
          .share = at.input<float>(first + 3)};
}

void box_loss(const Launch& at, const device::PartialSums& sums) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::box_loss<T>(at.stream(), box_of<T>(at, 0), at.output<float>(0), sums);
  });
}

void box_loss_grad(const Launch& at) {
  with_float_type(at.node.output(0).type.dtype, [&]<typename T>() {
    device::box_loss_grad<T>(at.stream(), box_of<T>(at, 1), at.input<float>(0), at.output<T>(0));
  });
}

}  // namespace

std::vector<Candidate> detection_candidates() {
  return {
      {&ops::anchor_rows_op, "own:anchor_rows", want_device_floats, make_rows<anchor_rows>},
      {&ops::anchor_rows_d_src_op, "own:anchor_rows_d_src", want_device_floats, make_rows<anchor_rows_d_src>},
      {&ops::match_anchors_op, "own:match_anchors", accept_match, make_sum<match_anchors>},
      {&ops::focal_loss_op, "own:focal_loss", want_device_floats, make_sum<focal_loss>},
      {&ops::focal_loss_grad_op, "own:focal_loss_grad", want_device_floats, make_rows<focal_loss_grad>},
      {&ops::box_loss_op, "own:box_loss", want_device_floats, make_sum<box_loss>},
      {&ops::box_loss_grad_op, "own:box_loss_grad", want_device_floats, make_rows<box_loss_grad>}};
}

}  // namespace trainyard::backend::cuda
