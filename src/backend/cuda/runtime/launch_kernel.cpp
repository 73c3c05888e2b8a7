#include "backend/cuda/runtime/launch_kernel.h"

namespace trainyard::backend::cuda {

Layout natural_layout(const Shape& shape) { return shape.rank() == 4 ? Layout::channels_last(4) : Layout{}; }

Layout present_or_natural_layout(const KernelRequest& request, int input) {
  const std::optional<Layout>& present = request.inputs[static_cast<std::size_t>(input)];
  return present ? *present : natural_layout(request.node.input_shape(input));
}

KernelIo natural_io(const graph::NodeView& node) {
  KernelIo io;
  for (int i = 0; i < node.inputs(); ++i) io.inputs.push_back(natural_layout(node.input_shape(i)));
  for (int o = 0; o < node.outputs(); ++o) io.outputs.push_back(natural_layout(node.output_shape(o)));
  return io;
}

KernelIo in_place_io(const graph::NodeView& node) {
  KernelIo io = natural_io(node);
  io.in_place = in_place_of_row(node, io);
  return io;
}

Decision want_device_floats(const KernelRequest& request) {
  const auto wrong = [](const graph::Value& value) { return value.type.dtype == DType::f64; };
  for (int i = 0; i < request.node.inputs(); ++i)
    if (wrong(request.node.input(i))) return Decision::no("f64 is not computed on GPUs here");
  for (int o = 0; o < request.node.outputs(); ++o)
    if (wrong(request.node.output(o))) return Decision::no("f64 is not computed on GPUs here");
  return Decision::yes();
}

Decision want_countable_elements(const KernelRequest& request) {
  const auto too_large = [](const Shape& shape) { return shape.elements() >= std::int64_t{1} << 31; };
  if (too_large(request.node.input_shape(0)) || too_large(request.node.output_shape(0)))
    return Decision::no("a tensor has 2^31 elements or more");
  return want_device_floats(request);
}

}  // namespace trainyard::backend::cuda
