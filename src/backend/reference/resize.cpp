#include "ops/resize.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {
namespace {

// Calls body(large, small, weight) for each pixel of the image that is made of another, and each of the four
// that it is made of, by their places in memory.
template <typename Body>
void for_each_tap(const Shape& from, const Shape& to, ops::ResizePlaces places, const Body& body) {
  for (std::int64_t plane = 0; plane < to[0] * to[1]; ++plane)
    for (std::int64_t h = 0; h < to[2]; ++h)
      for (std::int64_t w = 0; w < to[3]; ++w) {
        const ops::ResizeTap row = ops::resize_tap({from[2], to[2], places}, h),
                             column = ops::resize_tap({from[3], to[3], places}, w);
        const std::int64_t at = (plane * to[2] + h) * to[3] + w;
        const auto take = [&](std::int64_t y, std::int64_t x, double weight) {
          body(at, (plane * from[2] + y) * from[3] + x, weight);
        };
        const double down = row.share, right = column.share;
        take(row.first, column.first, (1 - down) * (1 - right));
        take(row.first, column.second, (1 - down) * right);
        take(row.second, column.first, down * (1 - right));
        take(row.second, column.second, down * right);
      }
}

// Makes `target` of the sums of weighted elements of the source.
template <typename T, typename Walk>
void sum_into(T* target, std::int64_t elements, const T* source, const Walk& walk) {
  std::vector<double> sums(static_cast<std::size_t>(elements), 0);
  walk([&](std::int64_t to, std::int64_t from, double weight) {
    sums[static_cast<std::size_t>(to)] += weight * static_cast<double>(source[from]);
  });
  for (std::int64_t i = 0; i < elements; ++i) target[i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
}

void resize(const Arguments& args) {
  const Shape &from = args.node.input_shape(0), &to = args.node.output_shape(0);
  with_float_type(args.node.dtype(), [&]<typename T>() {
    sum_into(args.output<T>(0), to.elements(), args.input<T>(0), [&](const auto& add) {
      for_each_tap(from, to, args.node.attrs<ops::ResizeAttrs>().places, add);
    });
  });
}

void resize_d_src(const Arguments& args) {
  const Shape &from = args.node.output_shape(0), &to = args.node.input_shape(0);
  with_float_type(args.node.dtype(), [&]<typename T>() {
    sum_into(args.output<T>(0), from.elements(), args.input<T>(0), [&](const auto& add) {
      for_each_tap(from, to, args.node.attrs<ops::ResizeAttrs>().places,
                   [&](std::int64_t large, std::int64_t small, double weight) { add(small, large, weight); });
    });
  });
}

}  // namespace

std::vector<Candidate> resize_candidates() {
  return {{&ops::resize_op, "reference:resize", always, make<resize>},
          {&ops::resize_d_src_op, "reference:resize_d_src", always, make<resize_d_src>}};
}

}  // namespace trainyard::backend::reference
