#include "backend/reference/slice.h"

#include <cstring>

#include "backend/reference/functions.h"
#include "ops/slice.h"

namespace trainyard::backend::reference {

void slice(const Arguments& args) {
  const auto& attrs = args.node.attrs<ops::SliceAttrs>();
  const std::size_t element = size_of(args.node.dtype());
  const auto* src = args.input<std::byte>(0);
  auto* dst = args.output<std::byte>(0);
  for_each_row_of_box(args.node.input_shape(0), attrs.begin, attrs.size,
                      [&](std::size_t box, std::size_t whole, std::size_t length) {
                        std::memcpy(dst + box * element, src + whole * element, length * element);
                      });
}

}  // namespace trainyard::backend::reference
