#include "ops/broadcast.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {
namespace {

// Returns for each element of `large` the place of its element in `small`, whose other axes have length 1.
std::vector<std::int64_t> places(const Shape& small, const Shape& large) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(large.elements()));
  for (std::int64_t i = 0; i < large.elements(); ++i) {
    std::int64_t rest = i, at = 0, stride = 1;
    for (int axis = large.rank() - 1; axis >= 0; --axis) {
      if (small[axis] != 1) at += rest % large[axis] * stride;
      stride *= small[axis];
      rest /= large[axis];
    }
    all[static_cast<std::size_t>(i)] = at;
  }
  return all;
}

void repeat(const Arguments& args) {
  const auto from = places(args.node.input_shape(0), args.node.output_shape(0));
  with_float_type(args.node.dtype(), [&]<typename T>() {
    for (std::size_t i = 0; i < from.size(); ++i) args.output<T>(0)[i] = args.input<T>(0)[from[i]];
  });
}

void sum(const Arguments& args) {
  const auto to = places(args.node.output_shape(0), args.node.input_shape(0));
  with_float_type(args.node.dtype(), [&]<typename T>() {
    std::vector<double> sums(static_cast<std::size_t>(args.node.output_shape(0).elements()), 0);
    for (std::size_t i = 0; i < to.size(); ++i) sums[static_cast<std::size_t>(to[i])] += args.input<T>(0)[i];
    for (std::size_t i = 0; i < sums.size(); ++i) args.output<T>(0)[i] = static_cast<T>(sums[i]);
  });
}

}  // namespace

std::vector<Candidate> broadcast_candidates() {
  return {{&ops::repeat_op, "reference:repeat", always, make<repeat>},
          {&ops::sum_op, "reference:sum", always, make<sum>}};
}

}  // namespace trainyard::backend::reference
