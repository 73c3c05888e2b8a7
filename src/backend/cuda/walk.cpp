#include "backend/cuda/walk.h"

#include <numeric>

#include "base/error.h"

namespace trainyard::backend::cuda {

std::vector<int> axis_order(const Layout& layout, int rank) {
  if (!layout.order().empty()) return layout.order();
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

device::Walk make_walk(const Layout& order, const Shape& box, const Layout& lies, const Shape& whole) {
  TRAINYARD_CHECK(order.blocks().empty() && lies.blocks().empty());
  TRAINYARD_CHECK(box.elements() < std::int64_t{1} << 31);
  const LayoutIndex index(lies, whole);
  device::Walk walk;
  for (const int axis : axis_order(order, box.rank())) walk.append(box[axis], index.outer_stride(axis));
  return walk;
}

}  // namespace trainyard::backend::cuda
