#include "ops/l2_penalty.h"

#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/list.h"

namespace trainyard::backend::onednn {
namespace {

// Sum of squares in chunks of fixed length, so that the result does not depend on the thread count. Each
// chunk adds up sixteen lanes in f32, short enough to stay accurate.
constexpr std::int64_t kChunk = 4096;

double chunk_squares(const float* x, std::int64_t count) {
  float lanes[16] = {};
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int l = 0; l < 16; ++l) lanes[l] += x[i + l] * x[i + l];
  for (; i < count; ++i) lanes[0] += x[i] * x[i];
  double sum = 0;
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

std::int64_t padded_weights(const KernelIo& io, const graph::NodeView& node, int input) {
  return io.inputs[static_cast<std::size_t>(input)].elements(node.input_shape(input));
}

void run_forward(const Arguments& arguments) {
  auto* sums = reinterpret_cast<double*>(arguments.memory.workspace);
  double total = 0;
  for (int w = 0; w < arguments.node.inputs(); ++w) {
    const float* weights = arguments.input<float>(w);
    const std::int64_t count = padded_weights(arguments.io, arguments.node, w),
                       chunks = (count + kChunk - 1) / kChunk;
    parallel_chunks(chunks, 8, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t c = begin; c < end; ++c)
        sums[c] = chunk_squares(weights + c * kChunk, std::min(kChunk, count - c * kChunk));
    });
    for (std::int64_t c = 0; c < chunks; ++c) total += sums[c];
  }
  *arguments.output<float>(0) =
      static_cast<float>(0.5 * arguments.node.attrs<ops::L2PenaltyAttrs>().coefficient * total);
}

void run_grad(const Arguments& arguments) {
  const float factor = static_cast<float>(arguments.node.attrs<ops::L2PenaltyAttrs>().coefficient) *
                       *arguments.input<float>(0);
  const float* weights = arguments.input<float>(1);
  float* gradient = arguments.output<float>(0);
  for_each_element(padded_elements(arguments), [=](std::int64_t i) { gradient[i] = factor * weights[i]; });
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

// Each weight in its own layout: padding adds nothing to a sum of squares.
std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  std::int64_t most = 0;
  for (int i = 0; i < request.node.inputs(); ++i) {
    io.inputs[static_cast<std::size_t>(i)] = request.input_or_plain(i);
    most = std::max(most, padded_weights(io, request.node, i));
  }
  io.workspace_bytes = static_cast<std::size_t>(most / kChunk + 1) * sizeof(double);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_forward);
}

std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.inputs[1] = io.outputs[0] = request.input_or_plain(1);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_grad);
}

}  // namespace

std::vector<Candidate> l2_penalty_candidates() {
  return {{&ops::l2_penalty_op, "own:l2_penalty", accept, make_forward},
          {&ops::l2_penalty_grad_op, "own:l2_penalty_grad", accept, make_grad}};
}

}  // namespace trainyard::backend::onednn
