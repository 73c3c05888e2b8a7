#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void multiply(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const T *a = args.input<T>(0), *b = args.input<T>(1);
    T* dst = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i) dst[i] = a[i] * b[i];
  });
}

}  // namespace trainyard::backend::reference
