#include "ops/average_pool.h"

#include "backend/cuda/device/average_pool.h"
#include "backend/cuda/list.h"
#include "backend/cuda/pool.h"

namespace trainyard::backend::cuda {
namespace {

void average_pool(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::AveragePoolAttrs>();
  const device::Pool pool = make_pool(attrs.window, launch.node.input_shape(0), launch.node.output_shape(0));
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::average_pool(launch.stream(), pool, attrs.count_padding, launch.input<T>(0), launch.output<T>(0));
  });
}

void average_pool_d_src(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::AveragePoolGradAttrs>();
  const device::Pool pool = make_pool(attrs.pool.window, attrs.src_shape, launch.node.input_shape(0));
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::average_pool_d_src(launch.stream(), pool, attrs.pool.count_padding, launch.input<T>(0),
                               launch.output<T>(0));
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

}  // namespace

std::vector<Candidate> average_pool_candidates() {
  return {{&ops::average_pool_op, "own:average_pool", want_countable_elements, make<average_pool>},
          {&ops::average_pool_d_src_op, "own:average_pool_d_src", want_countable_elements,
           make<average_pool_d_src>}};
}

}  // namespace trainyard::backend::cuda
