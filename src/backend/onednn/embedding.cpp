#include "ops/embedding.h"

#include <algorithm>
#include <limits>

#include "backend/function_kernel.h"
#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/list.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {
namespace {

void run_forward(const Arguments& arguments) {
  const Shape& table_shape = arguments.node.input_shape(0);
  const std::int64_t vocabulary = table_shape[0], width = table_shape[1];
  const float* table = arguments.input<float>(0);
  const auto* ids = arguments.input<std::int32_t>(1);
  float* dst = arguments.output<float>(0);
  parallel_chunks(arguments.node.input_shape(1).elements(),
                  std::max<std::int64_t>(1, kElementwiseGrain / width),
                  [=](std::int64_t begin, std::int64_t end, int) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      if (ids[i] >= 0 && ids[i] < vocabulary)
                        std::copy_n(table + ids[i] * width, width, dst + i * width);
                      else
                        std::fill_n(dst + i * width, width, std::numeric_limits<float>::quiet_NaN());
                    }
                  });
}

// Each thread has some of the columns, of all rows: whoever adds to a number does so in the order of the ids.
void run_d_table(const Arguments& arguments) {
  constexpr std::int64_t kColumns = 16;  // a cache line: no two threads write into the same
  const std::int64_t vocabulary = arguments.node.output_shape(0)[0],
                     width = arguments.node.output_shape(0)[1];
  const std::int64_t count = arguments.node.input_shape(1).elements();
  const float* d_dst = arguments.input<float>(0);
  const auto* ids = arguments.input<std::int32_t>(1);
  float* d_table = arguments.output<float>(0);
  const std::int64_t blocks = (width + kColumns - 1) / kColumns;
  const std::int64_t worth_a_thread =
      std::max<std::int64_t>(1, kElementwiseGrain / ((count + vocabulary) * kColumns));
  parallel_chunks(blocks, worth_a_thread, [=](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t first = begin * kColumns, columns = std::min(end * kColumns, width) - first;
    for (std::int64_t row = 0; row < vocabulary; ++row)
      std::fill_n(d_table + row * width + first, columns, 0.0f);
    for (std::int64_t i = 0; i < count; ++i) {
      if (ids[i] < 0 || ids[i] >= vocabulary) continue;
      const float* from = d_dst + i * width + first;
      float* to = d_table + ids[i] * width + first;
#pragma omp simd
      for (std::int64_t e = 0; e < columns; ++e) to[e] += from[e];
    }
  });
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

template <KernelFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, plain_io(request.node), function);
}

}  // namespace

std::vector<Candidate> embedding_candidates() {
  return {{&ops::embedding_op, "own:embedding", accept, make<run_forward>},
          {&ops::embedding_d_table_op, "own:embedding_d_table", accept, make<run_d_table>}};
}

}  // namespace trainyard::backend::onednn
