#include "ops/add.h"

#include "backend/reference/activation.h"
#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void add(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::AddAttrs>();
    const int terms = args.node.inputs() - (attrs.mask_by_last ? 1 : 0);
    T* dst = args.output<T>(0);
    const std::int64_t elements = args.node.output_shape(0).elements();
    for (std::int64_t i = 0; i < elements; ++i) {
      const bool masked = attrs.mask_by_last && !(args.input<T>(terms)[i] > 0);
      double sum = 0;
      for (int term = 0; term < terms; ++term) sum += args.input<T>(term)[i];
      dst[i] = masked ? T(0) : activate(attrs.activation, static_cast<T>(sum));
    }
  });
}

}  // namespace trainyard::backend::reference
