#include "ops/matmul.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {
namespace {

using dnnl::memory;
using Place = DnnlKernel::Place;

// Describes a batch of matrices, all axes but the last two as one; a transposed one is the same memory with
// the strides of its last two axes exchanged.
memory::desc batch_desc(const Shape& shape, bool transposed) {
  const int rank = shape.rank();
  const std::int64_t rows = shape[rank - 2], columns = shape[rank - 1],
                     batch = shape.elements() / (rows * columns);
  if (transposed)
    return {{batch, columns, rows}, memory::data_type::f32, memory::dims{rows * columns, 1, columns}};
  return {{batch, rows, columns}, memory::data_type::f32, memory::dims{rows * columns, columns, 1}};
}

std::unique_ptr<Kernel> make_matmul(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const auto& attrs = node.attrs<ops::MatmulAttrs>();
  const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(batch_desc(node.input_shape(0), attrs.transpose_a),
                                                           batch_desc(node.input_shape(1), attrs.transpose_b),
                                                           batch_desc(node.output_shape(0), false)),
                                        planned_attr(), cpu_engine());
  // Layouts are plain: the descriptors have axes of their own.
  return make_dnnl_kernel(node, dnnl::matmul(pd), pd.scratchpad_desc(),
                          {{DNNL_ARG_SRC, Place::input, 0, pd.src_desc(), Layout{}},
                           {DNNL_ARG_WEIGHTS, Place::input, 1, pd.weights_desc(), Layout{}},
                           {DNNL_ARG_DST, Place::output, 0, pd.dst_desc(), Layout{}}});
}

void run_permute(const Arguments& arguments) {
  const std::vector<int>& order = arguments.node.attrs<ops::PermuteAttrs>().order;
  const Shape &src_shape = arguments.node.input_shape(0), &dst_shape = arguments.node.output_shape(0);
  const int rank = dst_shape.rank();
  const std::int64_t row = dst_shape[rank - 1], rows = dst_shape.elements() / row;
  const auto stride = [&](int axis) {
    return src_shape.elements_from(order[static_cast<std::size_t>(axis)] + 1);
  };
  const std::int64_t step = stride(rank - 1);
  constexpr std::int64_t kGrain = 16384;  // numbers that are worth a thread
  parallel_chunks(rows, std::max<std::int64_t>(1, kGrain / row),
                  [&](std::int64_t begin, std::int64_t end, int) {
                    for (std::int64_t r = begin; r < end; ++r) {
                      std::int64_t from = 0, rest = r;
                      for (int axis = rank - 2; axis >= 0; --axis) {
                        from += rest % dst_shape[axis] * stride(axis);
                        rest /= dst_shape[axis];
                      }
                      const float* src = arguments.input<float>(0) + from;
                      float* dst = arguments.output<float>(0) + r * row;
                      if (step == 1)
                        std::copy_n(src, row, dst);
                      else
                        for (std::int64_t i = 0; i < row; ++i) dst[i] = src[i * step];
                    }
                  });
}

std::unique_ptr<Kernel> make_permute(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, plain_io(request.node), run_permute);
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

}  // namespace

std::vector<Candidate> matmul_candidates() {
  return {{&ops::matmul_op, "onednn:matmul", accept, make_matmul},
          {&ops::permute_op, "own:permute", accept, make_permute}};
}

}  // namespace trainyard::backend::onednn
