#include "ops/scale.h"

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void scale(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const double factor = args.node.attrs<ops::ScaleAttrs>().factor;
    const T* src = args.input<T>(0);
    T* dst = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i) dst[i] = static_cast<T>(factor * src[i]);
  });
}

}  // namespace trainyard::backend::reference
