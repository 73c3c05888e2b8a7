#include "ops/pad.h"

#include <cstring>

#include "backend/reference/functions.h"
#include "backend/reference/slice.h"

namespace trainyard::backend::reference {

void pad(const Arguments& args) {
  const std::size_t element = size_of(args.node.dtype());
  const auto* src = args.input<std::byte>(0);
  auto* dst = args.output<std::byte>(0);
  std::memset(dst, 0, static_cast<std::size_t>(args.node.output(0).type.bytes()));
  for_each_row_of_box(args.node.output_shape(0), args.node.attrs<ops::PadAttrs>().before,
                      args.node.input_shape(0), [&](std::size_t box, std::size_t whole, std::size_t length) {
                        std::memcpy(dst + whole * element, src + box * element, length * element);
                      });
}

}  // namespace trainyard::backend::reference
