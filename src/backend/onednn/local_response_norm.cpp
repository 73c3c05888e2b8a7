#include "ops/local_response_norm.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/onednn/image_view.h"
#include "backend/onednn/list.h"
#include "base/parallel.h"

// One pixel at a time: its channels are gathered into a short row with zeros on either side, in which the sum
// over the window is a few shifted loads from the first-level cache. Nothing is saved for the gradient, which
// makes the sums again: that costs less than writing and reading a tensor.
namespace trainyard::backend::onednn {
namespace {

constexpr std::int64_t kMaxChannels = 512, kMaxRadius = 16;

// A pixel's channels with room for the window on both sides.
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

void run_forward(const Arguments& arguments) {
  const Problem problem(arguments);
  with_lanes(problem.image.lanes, [&]<int L>() {
    parallel_chunks(problem.image.images * problem.image.pixels(), 64, [&](auto begin, auto end, int) {
      forward_pixels<L>(problem, arguments.input<float>(0), arguments.output<float>(0), begin, end);
    });
  });
}

void run_grad(const Arguments& arguments) {
  const Problem problem(arguments);
  with_lanes(problem.image.lanes, [&]<int L>() {
    parallel_chunks(problem.image.images * problem.image.pixels(), 64, [&](auto begin, auto end, int) {
      backward_pixels<L>(problem, arguments.input<float>(0), arguments.input<float>(1),
                         arguments.output<float>(0), begin, end);
    });
  });
}

Decision accept(const KernelRequest& request) {
  if (request.node.input_shape(0)[1] > kMaxChannels - 16) return Decision::no("more than 496 channels");
  if (request.node.attrs<ops::LocalResponseNormAttrs>().window / 2 > kMaxRadius)
    return Decision::no("window wider than 33");
  return wants_image(request.node);
}

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout}, 0, {{0, 0}}},
                                          run_forward);
}

std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  const Layout layout = image_layout(request, 1);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout, layout}, {layout}, 0, {{0, 0}}},
                                          run_grad);
}

}  // namespace

std::vector<Candidate> local_response_norm_candidates() {
  return {{&ops::local_response_norm_op, "own:local_response_norm", accept, make_forward},
          {&ops::local_response_norm_grad_op, "own:local_response_norm_grad", accept, make_grad}};
}

}  // namespace trainyard::backend::onednn
