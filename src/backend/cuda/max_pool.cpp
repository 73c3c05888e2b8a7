#include "ops/max_pool.h"

#include "backend/cuda/device/max_pool.h"
#include "backend/cuda/list.h"
#include "backend/cuda/pool.h"

namespace trainyard::backend::cuda {
namespace {

void max_pool(const Launch& launch) {
  const device::Pool pool = make_pool(launch.node.attrs<ops::MaxPoolAttrs>().window,
                                      launch.node.input_shape(0), launch.node.output_shape(0));
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::max_pool(launch.stream(), pool, launch.input<T>(0), launch.output<T>(0),
                     launch.output<std::uint8_t>(1));
  });
}

void max_pool_d_src(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::MaxPoolGradAttrs>();
  const device::Pool pool = make_pool(attrs.window, attrs.src_shape, launch.node.input_shape(0));
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::max_pool_d_src(launch.stream(), pool, launch.input<T>(0), launch.input<std::uint8_t>(1),
                           attrs.mask_by_dst ? launch.input<T>(2) : nullptr, launch.output<T>(0));
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

}  // namespace

std::vector<Candidate> max_pool_candidates() {
  return {{&ops::max_pool_op, "own:max_pool", want_countable_elements, make<max_pool>},
          {&ops::max_pool_d_src_op, "own:max_pool_d_src", want_countable_elements, make<max_pool_d_src>}};
}

}  // namespace trainyard::backend::cuda
