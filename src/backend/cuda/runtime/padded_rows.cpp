#include "backend/cuda/runtime/padded_rows.h"

#include "backend/cuda/runtime/launch_kernel.h"

namespace trainyard::backend::cuda {

Layout padded_rows() { return Layout({0, 1}, {{1, 8}}); }

bool padding_pays(const graph::TensorType& type) {
  constexpr std::int64_t kLeastWidth = 1024;  // a narrow matrix is read as fast as it lies
  return type.shape.rank() == 2 && type.shape[1] >= kLeastWidth &&
         type.shape[1] * static_cast<std::int64_t>(size_of(type.dtype)) % 16 != 0;
}

Layout present_rows(const KernelRequest& request, int input) {
  const std::optional<Layout>& present = request.inputs[static_cast<std::size_t>(input)];
  return present == padded_rows() ? *present : natural_layout(request.node.input_shape(input));
}

std::int64_t row_stride(const Layout& layout, const Shape& shape) { return layout.padded(shape)[1]; }

}  // namespace trainyard::backend::cuda
