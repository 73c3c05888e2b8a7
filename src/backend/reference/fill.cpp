#include "ops/fill.h"

#include <algorithm>

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void fill(const Arguments& args) {
  const auto& attrs = args.node.attrs<ops::FillAttrs>();
  with_float_type(attrs.type.dtype, [&]<typename T>() {
    std::fill_n(args.output<T>(0), attrs.type.shape.elements(), static_cast<T>(attrs.value));
  });
}

}  // namespace trainyard::backend::reference
