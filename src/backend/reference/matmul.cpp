#include "ops/matmul.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

void matmul(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::MatmulAttrs>();
    const Shape &a_shape = args.node.input_shape(0), &dst_shape = args.node.output_shape(0);
    const int rank = dst_shape.rank();
    const std::int64_t rows = dst_shape[rank - 2], columns = dst_shape[rank - 1],
                       depth = a_shape[attrs.transpose_a ? rank - 2 : rank - 1];
    const T *a = args.input<T>(0), *b = args.input<T>(1);
    T* dst = args.output<T>(0);
    for (std::int64_t left = dst_shape.elements() / (rows * columns); left > 0; --left) {
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < depth; ++k)
            sum += static_cast<double>(a[attrs.transpose_a ? k * rows + i : i * depth + k]) *
                   b[attrs.transpose_b ? j * depth + k : k * columns + j];
          dst[i * columns + j] = static_cast<T>(sum);
        }
      a += rows * depth;
      b += depth * columns;
      dst += rows * columns;
    }
  });
}

void permute(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::vector<int>& order = args.node.attrs<ops::PermuteAttrs>().order;
    const Shape &src_shape = args.node.input_shape(0), &dst_shape = args.node.output_shape(0);
    const T* src = args.input<T>(0);
    T* dst = args.output<T>(0);
    for (std::int64_t i = 0; i < dst_shape.elements(); ++i) {
      std::int64_t from = 0, rest = i;
      for (int axis = dst_shape.rank() - 1; axis >= 0; --axis) {
        const int of_src = order[static_cast<std::size_t>(axis)];
        from += rest % dst_shape[axis] * src_shape.elements_from(of_src + 1);
        rest /= dst_shape[axis];
      }
      dst[i] = src[from];
    }
  });
}

}  // namespace

std::vector<Candidate> matmul_candidates() {
  return {{&ops::matmul_op, "reference:matmul", always, make<matmul>},
          {&ops::permute_op, "reference:permute", always, make<permute>}};
}

}  // namespace trainyard::backend::reference
