#include "ops/concat.h"

#include <cstring>

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {

void concat(const Arguments& args) {
  const int axis = args.node.attrs<ops::ConcatAttrs>().axis;
  const Shape& dst_shape = args.node.output_shape(0);
  const std::size_t element = size_of(args.node.dtype());
  const std::int64_t outer = dst_shape.elements() / dst_shape.elements_from(axis);
  std::byte* dst = args.output<std::byte>(0);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (int part = 0; part < args.node.inputs(); ++part) {
      const auto run = static_cast<std::size_t>(args.node.input_shape(part).elements_from(axis)) * element;
      std::memcpy(dst, args.input<std::byte>(part) + static_cast<std::size_t>(o) * run, run);
      dst += run;
    }
  }
}

}  // namespace trainyard::backend::reference
