#include "ops/cast.h"

#include <cstring>

#include "backend/reference/functions.h"
#include "tensor/bfloat16.h"

namespace trainyard::backend::reference {

void cast(const Arguments& args) {
  for (int i = 0; i < args.node.inputs(); ++i) {
    const graph::TensorType &from = args.node.input(i).type, &to = args.node.output(i).type;
    const std::int64_t elements = from.shape.elements();
    if (from.dtype == to.dtype) {
      std::memcpy(args.output<std::byte>(i), args.input<std::byte>(i),
                  static_cast<std::size_t>(from.bytes()));
    } else if (to.dtype == DType::bf16) {
      for (std::int64_t e = 0; e < elements; ++e)
        args.output<BFloat16>(i)[e] = BFloat16(args.input<float>(i)[e]);
    } else {
      for (std::int64_t e = 0; e < elements; ++e)
        args.output<float>(i)[e] = static_cast<float>(args.input<BFloat16>(i)[e]);
    }
  }
}

}  // namespace trainyard::backend::reference
