#include "backend/cuda/device/dense_narrow.h"
#include "backend/cuda/activation.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"
#include "ops/dense.h"

namespace trainyard::backend::cuda {
namespace {

using device::NarrowDense;

// dst (N, O) and weight or src (.., K)
NarrowDense sizes_of(const Shape& dst, const Shape& operand) {
  return {dst[0], operand.elements_from(1), static_cast<int>(dst[1])};
}

void forward(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::dense_narrow(at.stream(), sizes_of(at.node.output_shape(0), at.node.input_shape(1)),
                         at.input<T>(0), at.input<T>(1), at.node.inputs() == 3 ? at.input<float>(2) : nullptr,
                         to_device(at.node.attrs<ops::DenseAttrs>().activation), at.output<T>(0));
  });
}

void d_src(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::dense_d_src_narrow(at.stream(), sizes_of(at.node.input_shape(0), at.node.input_shape(1)),
                               at.input<T>(0), at.input<T>(1), at.output<T>(0));
  });
}

void d_weight(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::dense_d_weight_narrow(at.stream(), sizes_of(at.node.input_shape(0), at.node.input_shape(1)),
                                  at.input<T>(0), at.input<T>(1), at.output<T>(0),
                                  at.node.attrs<ops::DenseGradAttrs>().bias ? at.output<float>(1) : nullptr);
  });
}

Decision accept(const KernelRequest& request, const Shape& dst) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  if (dst[1] > NarrowDense::kMostOutputs) return Decision::no("made for at most 32 outputs");
  if (dst[0] == 0) return Decision::no("there is no batch");
  return Decision::yes();
}

Decision accept_forward(const KernelRequest& request) {
  return accept(request, request.node.output_shape(0));
}
Decision accept_gradient(const KernelRequest& request) {
  return accept(request, request.node.input_shape(0));
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

}  // namespace

std::vector<Candidate> dense_narrow_candidates() {
  return {{&ops::dense_op, "own:dense_narrow", accept_forward, make<forward>},
          {&ops::dense_d_src_op, "own:dense_d_src_narrow", accept_gradient, make<d_src>},
          {&ops::dense_d_weight_op, "own:dense_d_weight_narrow", accept_gradient, make<d_weight>}};
}

}  // namespace trainyard::backend::cuda
