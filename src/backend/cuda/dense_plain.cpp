#include "backend/cuda/dense_plain.h"

#include "backend/cuda/activation.h"
#include "backend/cuda/device/bias_activation.h"
#include "backend/cuda/device/channel_sum.h"
#include "backend/cuda/device/dense_plain.h"
#include "ops/dense.h"

namespace trainyard::backend::cuda {

void dense_plain(const Launch& at) {
  const std::int64_t batch = at.node.output_shape(0)[0], outputs = at.node.output_shape(0)[1],
                     inputs = at.node.input_shape(1).elements_from(1);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::plain_product<T>(at.stream(), {batch, outputs, inputs, inputs, 1, 1, inputs}, at.input<T>(0),
                             at.input<T>(1), at.output<T>(0));
    device::bias_activation(at.stream(), to_device(at.node.attrs<ops::DenseAttrs>().activation),
                            at.node.inputs() == 3 ? at.input<float>(2) : nullptr, at.output<T>(0), batch,
                            outputs);
  });
}

void dense_d_src_plain(const Launch& at) {
  const std::int64_t batch = at.node.input_shape(0)[0], outputs = at.node.input_shape(0)[1],
                     inputs = at.node.input_shape(1).elements_from(1);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::plain_product<T>(at.stream(), {batch, inputs, outputs, outputs, 1, inputs, 1}, at.input<T>(0),
                             at.input<T>(1), at.output<T>(0));
  });
}

void dense_d_weight_plain(const Launch& at) {
  const std::int64_t batch = at.node.input_shape(0)[0], outputs = at.node.input_shape(0)[1],
                     inputs = at.node.input_shape(1).elements_from(1);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::plain_product<T>(at.stream(), {outputs, inputs, batch, 1, outputs, inputs, 1}, at.input<T>(0),
                             at.input<T>(1), at.output<T>(0));
    if (at.node.attrs<ops::DenseGradAttrs>().bias)
      device::channel_sum(at.stream(), at.input<T>(0), at.output<float>(1), batch, outputs);
  });
}

}  // namespace trainyard::backend::cuda
