#include "ops/smooth_unit.h"

#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

void smooth_unit(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::SmoothUnitAttrs>();
  const Shape& shape = launch.node.output_shape(0);
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    if (attrs.gated)
      device::gated_smooth_unit(launch.stream(), attrs.kind, shape[0], shape[1], launch.input<T>(0),
                                launch.output<T>(0));
    else
      device::smooth_unit(launch.stream(), attrs.kind, launch.input<T>(0), launch.output<T>(0),
                          shape.elements());
  });
}

void smooth_unit_grad(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::SmoothUnitAttrs>();
  const Shape& shape = launch.node.input_shape(0);
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    if (attrs.gated)
      device::gated_smooth_unit_grad(launch.stream(), attrs.kind, shape[0], shape[1], launch.input<T>(0),
                                     launch.input<T>(1), launch.output<T>(0));
    else
      device::smooth_unit_grad(launch.stream(), attrs.kind, launch.input<T>(0), launch.input<T>(1),
                               launch.output<T>(0), shape.elements());
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make_smooth_unit(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), function);
}

class GradAndColumns final : public Kernel {
 public:
  explicit GradAndColumns(const KernelRequest& request)
      : Kernel(in_place_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        strips_(node_.input_shape(1)[0], node_.input_shape(1)[1], size_of(node_.dtype()),
                device_.properties().multiProcessorCount),
        finished_(device_, strips_.strips) {
    io_.workspace_bytes = strips_.part_bytes;
  }
  void bind(const Binding& binding) override { binding_ = binding; }

  void run(const StepContext&) override {
    const Launch at{node_, io_, binding_, device_};
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::smooth_unit_grad_and_columns(at.stream(), node_.attrs<ops::SmoothUnitAttrs>().kind, strips_,
                                           at.input<T>(0), at.input<T>(1), at.output<T>(0),
                                           at.workspace<float>(), finished_.get(), at.output<float>(1));
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  device::UnitStrips strips_;
  BlockCounter finished_;  // blocks of each strip
  Binding binding_;
};

Decision accept_gradient(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  if (node.attrs<ops::SmoothUnitAttrs>().column_sums &&
      node.input_shape(1)[1] * static_cast<std::int64_t>(size_of(node.dtype())) % 16 != 0)
    return Decision::no("sums columns only of rows of whole vectors");
  return want_device_floats(request);
}

std::unique_ptr<Kernel> make_gradient(const KernelRequest& request) {
  if (request.node.attrs<ops::SmoothUnitAttrs>().column_sums)
    return std::make_unique<GradAndColumns>(request);
  return make_smooth_unit<smooth_unit_grad>(request);
}

}  // namespace

std::vector<Candidate> smooth_unit_candidates() {
  return {{&ops::smooth_unit_op, "own:smooth_unit", want_device_floats, make_smooth_unit<smooth_unit>},
          {&ops::smooth_unit_grad_op, "own:smooth_unit_grad", accept_gradient, make_gradient}};
}

}  // namespace trainyard::backend::cuda
