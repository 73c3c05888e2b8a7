#include "ops/fill.h"

#include "backend/cuda/device/scale.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

void fill(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::FillAttrs>();
  with_float_type(attrs.type.dtype, [&]<typename T>() {
    device::fill(launch.stream(), static_cast<float>(attrs.value), launch.output<T>(0),
                 attrs.type.shape.elements());
  });
}

Decision accept(const KernelRequest& request) {
  const DType dtype = request.node.output(0).type.dtype;
  return dtype == DType::f32 || dtype == DType::bf16 ? Decision::yes()
                                                     : Decision::no("fills f32 and bf16 only");
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), fill);
}

}  // namespace

std::vector<Candidate> fill_candidates() { return {{&ops::fill_op, "own:fill", accept, make}}; }

}  // namespace trainyard::backend::cuda
