#include "backend/reference/activation.h"

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void activation(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::ActivationAttrs>();
    const T* src = args.input<T>(0);
    T* dst = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i) dst[i] = activate(attrs, src[i]);
  });
}

void activation_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::ActivationAttrs>();
    const T *d_dst = args.input<T>(0), *dst = args.input<T>(1);
    T* d_src = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i)
      d_src[i] = d_dst[i] * activation_slope(attrs, dst[i]) * static_cast<T>(attrs.gradient_scale);
  });
}

}  // namespace trainyard::backend::reference
