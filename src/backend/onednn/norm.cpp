// One pixel at a time: its channels are gathered into a short row with zeros on either side, in which the sum
// over the window is a few shifted loads from the first-level cache. Nothing is saved for the gradient, which
// makes the sums again: that costs less than writing and reading a tensor.

#include "ops/norm.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {

namespace {

constexpr std::int64_t kMaxChannels = 512, kMaxRadius = 16;

// A row holds a pixel's channels with room for the window on both sides.
struct Row {
  alignas(64) std::array<float, kMaxChannels + 2 * kMaxRadius> values{};
  float* channels() { return values.data() + kMaxRadius; }
};

// base ^ -beta and base ^ (-beta - 1) for a block; 3/4 and 1/2 are the exponents in use and need no pow.
template <int L>
typename Vec<L>::Floats negative_power(typename Vec<L>::Floats base, float beta) {
  typename Vec<L>::Floats result;
  if (beta == 0.75f) {
    for (int i = 0; i < L; ++i) {
      const float root = std::sqrt(base[i]);
      result[i] = 1 / (root * std::sqrt(root));
    }
  } else if (beta == 0.5f) {
    for (int i = 0; i < L; ++i) result[i] = 1 / std::sqrt(base[i]);
  } else {
    for (int i = 0; i < L; ++i) result[i] = std::pow(base[i], -beta);
  }
  return result;
}

template <int L>
typename Vec<L>::Floats window_sum(const float* center, std::int64_t radius) {
  typename Vec<L>::Floats sum = Vec<L>::load(center - radius);
  for (std::int64_t i = 1 - radius; i <= radius; ++i) sum += Vec<L>::load(center + i);
  return sum;
}

struct Problem {
  ImageView image;
  std::int64_t radius;
  float k, alpha, beta;

  Problem(const Arguments& arguments) : image(arguments.io.outputs[0], arguments.node.output_shape(0)) {
    const auto& attrs = arguments.node.attrs<ops::LocalResponseNormAttrs>();
    radius = attrs.window / 2;
    k = static_cast<float>(attrs.k);
    alpha = static_cast<float>(attrs.alpha);
    beta = static_cast<float>(attrs.beta);
  }
  // Offset of a pixel's first channel; its other blocks follow at distance block_stride.
  std::int64_t at(std::int64_t pixel) const {
    return pixel / image.pixels() * image.image_stride + pixel % image.pixels() * image.pixel_stride;
  }
};

template <int L>
void forward_pixels(const Problem& problem, const float* x, float* y, std::int64_t begin, std::int64_t end) {
  using V = Vec<L>;
  Row squares;
  for (std::int64_t pixel = begin; pixel < end; ++pixel) {
    const std::int64_t at = problem.at(pixel);
    for (std::int64_t b = 0; b < problem.image.blocks; ++b) {
      const auto value = V::load(x + at + b * problem.image.block_stride);
      V::store(squares.channels() + b * L, value * value);
    }
    for (std::int64_t b = 0; b < problem.image.blocks; ++b) {
      const auto base = window_sum<L>(squares.channels() + b * L, problem.radius) * problem.alpha + problem.k;
      const std::int64_t i = at + b * problem.image.block_stride;
      V::store(y + i, V::load(x + i) * negative_power<L>(base, problem.beta));
    }
  }
}

// d_x = d_y s^-beta - 2 alpha beta x * sum over the window of d_y x s^(-beta-1), with s = k + alpha * sum of
// squares.
template <int L>
void backward_pixels(const Problem& problem, const float* d_y, const float* x, float* d_x, std::int64_t begin,
                     std::int64_t end) {
  using V = Vec<L>;
  Row squares, products;
  alignas(64) std::array<float, kMaxChannels> powers;
  const float factor = 2 * problem.alpha * problem.beta;
  for (std::int64_t pixel = begin; pixel < end; ++pixel) {
    const std::int64_t at = problem.at(pixel);
    for (std::int64_t b = 0; b < problem.image.blocks; ++b) {
      const auto value = V::load(x + at + b * problem.image.block_stride);
      V::store(squares.channels() + b * L, value * value);
    }
    for (std::int64_t b = 0; b < problem.image.blocks; ++b) {
      const std::int64_t i = at + b * problem.image.block_stride;
      const auto base = window_sum<L>(squares.channels() + b * L, problem.radius) * problem.alpha + problem.k;
      const auto scaled = V::load(d_y + i) * negative_power<L>(base, problem.beta);
      V::store(powers.data() + b * L, scaled);
      V::store(products.channels() + b * L, scaled * V::load(x + i) / base);
    }
    // Padding channels hold zeros in x and d_y, so they add nothing.
    for (std::int64_t b = 0; b < problem.image.blocks; ++b) {
      const std::int64_t i = at + b * problem.image.block_stride;
      const auto sum = window_sum<L>(products.channels() + b * L, problem.radius);
      V::store(d_x + i, V::load(powers.data() + b * L) - V::load(x + i) * sum * factor);
    }
  }
}

void run_forward_local_response_norm(const Arguments& arguments) {
  const Problem problem(arguments);
  with_lanes(problem.image.lanes, [&]<int L>() {
    parallel_chunks(problem.image.images * problem.image.pixels(), 64, [&](auto begin, auto end, int) {
      forward_pixels<L>(problem, arguments.input<float>(0), arguments.output<float>(0), begin, end);
    });
  });
}

void run_grad_local_response_norm(const Arguments& arguments) {
  const Problem problem(arguments);
  with_lanes(problem.image.lanes, [&]<int L>() {
    parallel_chunks(problem.image.images * problem.image.pixels(), 64, [&](auto begin, auto end, int) {
      backward_pixels<L>(problem, arguments.input<float>(0), arguments.input<float>(1),
                         arguments.output<float>(0), begin, end);
    });
  });
}

Decision accept_local_response_norm(const KernelRequest& request) {
  if (request.node.input_shape(0)[1] > kMaxChannels - 16) return Decision::no("more than 496 channels");
  if (request.node.attrs<ops::LocalResponseNormAttrs>().window / 2 > kMaxRadius)
    return Decision::no("window wider than 33");
  return wants_image(request.node);
}

std::unique_ptr<Kernel> make_forward_local_response_norm(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout}, 0, {{0, 0}}},
                                          run_forward_local_response_norm);
}

std::unique_ptr<Kernel> make_grad_local_response_norm(const KernelRequest& request) {
  const Layout layout = image_layout(request, 1);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout, layout}, {layout}, 0, {{0, 0}}},
                                          run_grad_local_response_norm);
}

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

void run_forward_l2_penalty(const Arguments& arguments) {
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

void run_grad_l2_penalty(const Arguments& arguments) {
  const float factor = static_cast<float>(arguments.node.attrs<ops::L2PenaltyAttrs>().coefficient) *
                       *arguments.input<float>(0);
  const float* weights = arguments.input<float>(1);
  float* gradient = arguments.output<float>(0);
  for_each_element(padded_elements(arguments), [=](std::int64_t i) { gradient[i] = factor * weights[i]; });
}

Decision accept_l2_penalty(const KernelRequest& request) { return wants_f32(request.node); }

// Each weight in its own layout: padding adds nothing to a sum of squares.
std::unique_ptr<Kernel> make_forward_l2_penalty(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  std::int64_t most = 0;
  for (int i = 0; i < request.node.inputs(); ++i) {
    io.inputs[static_cast<std::size_t>(i)] = request.input_or_plain(i);
    most = std::max(most, padded_weights(io, request.node, i));
  }
  io.workspace_bytes = static_cast<std::size_t>(most / kChunk + 1) * sizeof(double);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_forward_l2_penalty);
}

std::unique_ptr<Kernel> make_grad_l2_penalty(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.inputs[1] = io.outputs[0] = request.input_or_plain(1);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_grad_l2_penalty);
}

}  // namespace

std::vector<Candidate> norm_candidates() {
  return {{&ops::local_response_norm_op, "own:local_response_norm", accept_local_response_norm,
           make_forward_local_response_norm},
          {&ops::local_response_norm_grad_op, "own:local_response_norm_grad", accept_local_response_norm,
           make_grad_local_response_norm},
          {&ops::l2_penalty_op, "own:l2_penalty", accept_l2_penalty, make_forward_l2_penalty},
          {&ops::l2_penalty_grad_op, "own:l2_penalty_grad", accept_l2_penalty, make_grad_l2_penalty}};
}

}  // namespace trainyard::backend::onednn
