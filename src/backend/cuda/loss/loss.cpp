#include "ops/loss.h"
#include "backend/cuda/loss/loss_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "backend/cuda/runtime/padded_rows.h"

namespace trainyard::backend::cuda {

namespace {

void softmax(const Launch& launch) {
  const Shape& shape = launch.node.input_shape(0);
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::softmax(launch.stream(), shape[0], shape[1], launch.input<T>(0), launch.output<T>(0));
  });
}

void softmax_grad(const Launch& launch) {
  const Shape& shape = launch.node.input_shape(0);
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::softmax_grad(launch.stream(), shape[0], shape[1], launch.input<T>(0), launch.input<T>(1),
                         launch.output<T>(0));
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make_softmax(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), function);
}

device::CrossEntropyLabels labels_of(const graph::NodeView& node, const Binding& binding, int input) {
  const std::byte* memory = binding.inputs[static_cast<std::size_t>(input)];
  const bool integers = node.input(input).type.dtype == DType::i32;
  return {integers ? reinterpret_cast<const std::int32_t*>(memory) : nullptr,
          integers ? nullptr : reinterpret_cast<const float*>(memory),
          static_cast<float>(node.attrs<ops::SoftmaxCrossEntropyAttrs>().label_smoothing)};
}

// The losses of the rows lie in the workspace, and the last block to finish adds them up.
class CrossEntropyKernel final : public Kernel {
 public:
  CrossEntropyKernel(const KernelRequest& request, KernelIo io)
      : Kernel(std::move(io)), node_(request.node), device_(context_of(request)), counter_(device_) {}
  void bind(const Binding& binding) override { binding_ = binding; }

  void run(const StepContext&) override {
    const Launch launch{node_, io_, binding_, device_};
    const Shape& shape = node_.input_shape(0);
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::softmax_cross_entropy(
          launch.stream(), {shape[0], shape[1]}, launch.input<T>(0), labels_of(node_, binding_, 1),
          launch.output<float>(0), launch.output<float>(1),
          node_.outputs() > 2 ? launch.output<T>(2) : nullptr, launch.workspace<float>(), counter_.get());
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  BlockCounter counter_;
  Binding binding_;
};

std::unique_ptr<Kernel> make_softmax_cross_entropy(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.workspace_bytes = static_cast<std::size_t>(request.node.input_shape(0)[0]) * sizeof(float);
  return std::make_unique<CrossEntropyKernel>(request, std::move(io));
}

void grad(const Launch& launch) {
  const Shape& shape = launch.node.input_shape(1);
  with_float_type(launch.node.output(0).type.dtype, [&]<typename T>() {
    device::softmax_cross_entropy_grad(launch.stream(), {shape[0], shape[1]}, launch.input<float>(0),
                                       launch.input<float>(1), labels_of(launch.node, launch.memory, 2),
                                       launch.output<T>(0));
  });
}

std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), grad);
}

// `labels`: the input of that name, (T, N). The input before are the logits, whose rows may be padded.
device::SequenceShape shape_of(const graph::NodeView& node, const KernelIo& io, int labels) {
  const Shape &steps = node.input_shape(labels), &logits = node.input_shape(labels - 1);
  const Layout& layout = io.inputs[static_cast<std::size_t>(labels - 1)];
  const std::int64_t classes = logits.elements() / steps.elements();
  return {steps[0], steps[1], classes, layout.is_plain() ? classes : row_stride(layout, logits)};
}

// The blocks leave their losses and counts in the workspace, and the last one to finish adds them up.
class SequenceCrossEntropy final : public Kernel {
 public:
  explicit SequenceCrossEntropy(const KernelRequest& request)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        counter_(device_) {
    io_.inputs[0] = present_rows(request, 0);
    io_.workspace_bytes = static_cast<std::size_t>(node_.input_shape(1).elements()) * 2 * sizeof(float);
  }
  void bind(const Binding& binding) override { binding_ = binding; }

  void run(const StepContext&) override {
    const Launch at{node_, io_, binding_, device_};
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::sequence_cross_entropy<T>(at.stream(), shape_of(node_, io_, 1), at.input<T>(0),
                                        {at.input<std::int32_t>(1), at.input<std::int32_t>(2)},
                                        at.output<float>(0), at.output<float>(1), at.workspace<float>(),
                                        counter_.get());
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  BlockCounter counter_;
  Binding binding_;
};

void gradient(const Launch& at) {
  with_float_type(at.node.output(0).type.dtype, [&]<typename T>() {
    device::sequence_cross_entropy_grad<T>(
        at.stream(), shape_of(at.node, at.io, 2), at.input<float>(0), at.input<T>(1), at.input<float>(4),
        {at.input<std::int32_t>(2), at.input<std::int32_t>(3)}, at.workspace<float>(), at.output<T>(0));
  });
}

// `labels`: the input of this name.
template <int labels>
Decision accept_sequence(const KernelRequest& request) {
  if (request.node.input_shape(labels).elements() >= std::int64_t{1} << 31)
    return Decision::no("there are 2^31 rows or more");
  return want_device_floats(request);
}

std::unique_ptr<Kernel> make_sequence_cross_entropy(const KernelRequest& request) {
  return std::make_unique<SequenceCrossEntropy>(request);
}

std::unique_ptr<Kernel> make_gradient(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.inputs[1] = io.outputs[0] = present_rows(request, 1);
  io.in_place = in_place_of_row(request.node, io);
  io.workspace_bytes = sizeof(float);
  return std::make_unique<LaunchKernel>(request, std::move(io), gradient);
}

using device::ClassifyShape;

// The losses of the rows lie in the workspace, and the last block to finish adds them up.
class ClassifyKernel final : public Kernel {
 public:
  explicit ClassifyKernel(const KernelRequest& request)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        counter_(device_) {
    io_.workspace_bytes = static_cast<std::size_t>(node_.input_shape(0)[0]) * sizeof(float);
  }
  void bind(const Binding& binding) override { binding_ = binding; }

  void run(const StepContext&) override {
    const Launch at{node_, io_, binding_, device_};
    const auto& attrs = node_.attrs<ops::ClassifyAttrs>();
    const Shape &src = node_.input_shape(0), &weight = node_.input_shape(1);
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::classify<T>(
          at.stream(), {src[0], src[1], static_cast<int>(weight[0])},
          {.src = at.input<T>(0),
           .weight = at.input<T>(1),
           .bias = at.input<float>(2),
           .labels = at.input<std::int32_t>(3),
           .smoothing = static_cast<float>(attrs.label_smoothing),
           .mask_scale = static_cast<float>(attrs.mask_scale),
           .dropout = {at.context(), attrs.dropout.stream, static_cast<float>(attrs.dropout.rate),
                       static_cast<float>(1 / (1 - attrs.dropout.rate))},
           .dropped = attrs.dropout.rate > 0 ? at.output<T>(5) : nullptr,
           .logits = at.output<T>(0),
           .d_logits = at.output<T>(3),
           .d_src = at.output<T>(4),
           .loss = at.output<float>(1),
           .probabilities = at.output<float>(2),
           .row_losses = at.workspace<float>(),
           .counter = counter_.get()});
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  BlockCounter counter_;
  Binding binding_;
};

Decision accept(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  if (request.node.dtype() != request.node.input(1).type.dtype)
    return Decision::no("inputs and weights of one type only");
  if (request.node.input(2).type.dtype != DType::f32) return Decision::no("adds the bias in f32");
  const Shape &src = request.node.input_shape(0), &weight = request.node.input_shape(1);
  if (src.elements() == 0) return Decision::no("there is nothing to classify");
  if (weight[0] > ClassifyShape::kMostClasses) return Decision::no("made for at most 32 classes");
  // Every row reads all weights; a matrix product reads them once for many rows.
  constexpr std::int64_t kMostReads = 32 << 20;
  if (src[0] * weight.elements() * static_cast<std::int64_t>(size_of(request.node.dtype())) > kMostReads)
    return Decision::no("made for little: matrix products are faster");
  return Decision::yes();
}

std::unique_ptr<Kernel> make_classify(const KernelRequest& request) {
  return std::make_unique<ClassifyKernel>(request);
}

}  // namespace

std::vector<Candidate> loss_candidates() {
  return {
      {&ops::softmax_op, "own:softmax", want_device_floats, make_softmax<softmax>},
      {&ops::softmax_grad_op, "own:softmax_grad", want_device_floats, make_softmax<softmax_grad>},
      {&ops::softmax_cross_entropy_op, "own:softmax_cross_entropy", want_device_floats,
       make_softmax_cross_entropy},
      {&ops::softmax_cross_entropy_grad_op, "own:softmax_cross_entropy_grad", want_device_floats, make_grad},
      {&ops::sequence_cross_entropy_op, "own:sequence_cross_entropy", accept_sequence<1>,
       make_sequence_cross_entropy},
      {&ops::sequence_cross_entropy_grad_op, "own:sequence_cross_entropy_grad", accept_sequence<2>,
       make_gradient},
      {&ops::classify_op, "own:classify", accept, make_classify}};
}

}  // namespace trainyard::backend::cuda
