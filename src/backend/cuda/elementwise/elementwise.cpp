#include "backend/cuda/elementwise/elementwise.h"

#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "ops/pointwise.h"

namespace trainyard::backend::cuda {

namespace {

void activation(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::activation(launch.stream(), to_device(launch.node.attrs<ops::ActivationAttrs>()),
                       launch.input<T>(0), launch.output<T>(0), launch.node.output_shape(0).elements());
  });
}

void activation_grad(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::activation_grad(launch.stream(), to_device(launch.node.attrs<ops::ActivationAttrs>()),
                            launch.input<T>(0), launch.input<T>(1), launch.output<T>(0),
                            launch.node.output_shape(0).elements());
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make_in_place(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), function);
}

void pointwise(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::pointwise(launch.stream(), launch.node.attrs<ops::PointwiseAttrs>(), launch.input<T>(0),
                      launch.output<T>(0), launch.node.output_shape(0).elements());
  });
}

void pointwise_grad(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::pointwise_grad(launch.stream(), launch.node.attrs<ops::PointwiseAttrs>(), launch.input<T>(0),
                           launch.input<T>(1), launch.output<T>(0), launch.node.output_shape(0).elements());
  });
}

int terms_of(const graph::NodeView& node) {
  return node.inputs() - (node.attrs<ops::AddAttrs>().mask_by_last ? 1 : 0);
}

void add(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::AddAttrs>();
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::Terms<T> terms{};
    terms.count = terms_of(launch.node);
    for (int i = 0; i < terms.count; ++i) terms.at[i] = launch.input<T>(i);
    if (attrs.mask_by_last) terms.mask = launch.input<T>(terms.count);
    device::add(launch.stream(), terms, to_device(attrs.activation), launch.output<T>(0),
                launch.node.output_shape(0).elements());
  });
}

Decision accept(const KernelRequest& request) {
  if (terms_of(request.node) > device::kMaxTerms)
    return Decision::no("more terms than a kernel's arguments hold");
  return want_device_floats(request);
}

std::unique_ptr<Kernel> make_add(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), add);
}

void multiply(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::multiply(launch.stream(), launch.input<T>(0), launch.input<T>(1), launch.output<T>(0),
                     launch.node.output_shape(0).elements());
  });
}

std::unique_ptr<Kernel> make_multiply(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), multiply);
}

void scale(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::scale(launch.stream(), static_cast<float>(launch.node.attrs<ops::ScaleAttrs>().factor),
                  launch.input<T>(0), launch.output<T>(0), launch.node.output_shape(0).elements());
  });
}

std::unique_ptr<Kernel> make_scale(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), scale);
}

void dropout(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::DropoutAttrs>();
  const Shape& shape = launch.node.output_shape(0);
  const device::DropoutShape image = shape.rank() == 4
                                         ? device::DropoutShape{shape[0], shape[2] * shape[3], shape[1]}
                                         : device::DropoutShape{1, shape.elements(), 1};
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::dropout(launch.stream(),
                    {launch.context(), attrs.stream, static_cast<float>(attrs.rate),
                     static_cast<float>(1 / (1 - attrs.rate))},
                    image, launch.input<T>(0), launch.output<T>(0));
  });
}

std::unique_ptr<Kernel> make_dropout(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), dropout);
}

}  // namespace

std::vector<Candidate> elementwise_candidates() {
  return {
      {&ops::activation_op, "own:activation", want_device_floats, make_in_place<activation>},
      {&ops::activation_grad_op, "own:activation_grad", want_device_floats, make_in_place<activation_grad>},
      {&ops::add_op, "own:add", accept, make_add},
      {&ops::multiply_op, "own:multiply", want_device_floats, make_multiply},
      {&ops::scale_op, "own:scale", want_device_floats, make_scale},
      {&ops::dropout_op, "own:dropout", want_device_floats, make_dropout},
      {&ops::pointwise_op, "own:pointwise", want_device_floats, make_in_place<pointwise>},
      {&ops::pointwise_grad_op, "own:pointwise_grad", want_device_floats, make_in_place<pointwise_grad>}};
}

}  // namespace trainyard::backend::cuda
