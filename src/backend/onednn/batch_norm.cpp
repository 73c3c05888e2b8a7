#include "ops/batch_norm.h"

#include <cmath>

#include "backend/onednn/blocked_image.h"
#include "backend/onednn/list.h"
#include "base/parallel.h"

// Two passes over the data each way, both split by image so that a thread meets its own images again in
// cache.
namespace trainyard::backend::onednn {
namespace {

// Per-channel numbers of one thread, padded so that a block of channels can be loaded as one vector.
std::int64_t padded_channels(const BlockedImage& image) { return image.blocks * image.block; }

std::size_t workspace_floats(const BlockedImage& image) {
  return static_cast<std::size_t>(2 * padded_channels(image) * (thread_count() + 1));
}

float padded_at(const float* values, std::int64_t channel, const BlockedImage& image) {
  return channel < image.channels ? values[channel] : 0.0f;
}

// Adds a plane's mean and squared deviations to those of `count` earlier elements (Chan et al., 1979); the
// shift keeps the sums of one plane accurate in f32.
template <int B>
void add_plane_moments(const float* x, std::int64_t pixels, double count, double* mean, double* deviation) {
  using V = Vec<B>;
  const auto shift = V::load(x);
  typename V::Floats sum{}, squares{};
  for (std::int64_t i = 0; i < pixels; ++i) {
    const auto d = V::load(x + i * B) - shift;
    sum += d;
    squares += d * d;
  }
  const auto n = static_cast<double>(pixels);
  for (int c = 0; c < B; ++c) {
    const double plane_mean = static_cast<double>(shift[c]) + static_cast<double>(sum[c]) / n;
    const double plane_deviation =
        static_cast<double>(squares[c]) - static_cast<double>(sum[c]) * static_cast<double>(sum[c]) / n;
    const double delta = plane_mean - mean[c], total = count + n;
    deviation[c] += plane_deviation + delta * delta * count * n / total;
    mean[c] += delta * n / total;
  }
}

// Mean and biased variance of every channel. The images are cut in one share per thread; the shares are
// joined in order, so the result depends on the thread count alone.
template <int B>
void batch_moments(const BlockedImage& image, const float* x, double* workspace, float* mean,
                   float* variance) {
  const std::int64_t channels = padded_channels(image),
                     threads = std::min<std::int64_t>(thread_count(), image.images);
  parallel_chunks(threads, 1, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t t = first; t < last; ++t) {
      double *means = workspace + 2 * t * channels, *deviations = means + channels;
      std::fill(means, means + 2 * channels, 0.0);
      const std::int64_t begin = image.images * t / threads, end = image.images * (t + 1) / threads;
      for (std::int64_t n = begin; n < end; ++n)
        for (std::int64_t b = 0; b < image.blocks; ++b)
          add_plane_moments<B>(x + (n * image.blocks + b) * image.plane(), image.pixels(),
                               static_cast<double>((n - begin) * image.pixels()), means + b * B,
                               deviations + b * B);
    }
  });
  for (std::int64_t c = 0; c < image.channels; ++c) {
    double count = 0, joined_mean = 0, joined_deviation = 0;
    for (std::int64_t t = 0; t < threads; ++t) {
      const auto n = static_cast<double>((image.images * (t + 1) / threads - image.images * t / threads) *
                                         image.pixels());
      const double delta = workspace[2 * t * channels + c] - joined_mean;
      joined_deviation += workspace[(2 * t + 1) * channels + c] + delta * delta * count * n / (count + n);
      joined_mean += delta * n / (count + n);
      count += n;
    }
    mean[c] = static_cast<float>(joined_mean);
    variance[c] = static_cast<float>(joined_deviation / count);
  }
}

template <int B>
void normalise(const BlockedImage& image, const float* x, const float* scale, const float* shift, bool relu,
               float* y) {
  using V = Vec<B>;
  parallel_chunks(image.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t p = begin * image.blocks; p < end * image.blocks; ++p) {
      const std::int64_t b = p % image.blocks;
      const auto a = V::load(scale + b * B), s = V::load(shift + b * B);
      const float* from = x + p * image.plane();
      float* to = y + p * image.plane();
      for (std::int64_t i = 0; i < image.plane(); i += B) {
        const auto value = V::load(from + i) * a + s;
        V::store(to + i, relu ? (value > 0 ? value : typename V::Floats{}) : value);
      }
    }
  });
}

void run_forward(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::BatchNormAttrs>();
  const BlockedImage image(arguments.io.inputs[0], arguments.node.input_shape(0));
  float *mean = arguments.output<float>(1), *inverse = arguments.output<float>(2);
  float *running_mean = arguments.state<float>(3), *running_variance = arguments.state<float>(4);
  auto* sums = reinterpret_cast<double*>(arguments.memory.workspace);
  const float *gamma = arguments.input<float>(1), *beta = arguments.input<float>(2);
  with_block(image.block, [&]<int B>() {
    if (attrs.training) {
      batch_moments<B>(image, arguments.input<float>(0), sums, mean, inverse);
      const auto count = static_cast<float>(image.images * image.pixels());
      const auto momentum = static_cast<float>(attrs.momentum);
      for (std::int64_t c = 0; c < image.channels; ++c) {
        running_mean[c] += momentum * (mean[c] - running_mean[c]);
        running_variance[c] +=
            momentum * (inverse[c] * count / std::max(count - 1, 1.0f) - running_variance[c]);
      }
    } else {
      std::copy(running_mean, running_mean + image.channels, mean);
      std::copy(running_variance, running_variance + image.channels, inverse);
    }
    // The sums are spent: their memory holds what one pixel is multiplied by and shifted.
    float *scale = reinterpret_cast<float*>(sums), *shift = scale + padded_channels(image);
    for (std::int64_t c = 0; c < padded_channels(image); ++c) {
      const bool real = c < image.channels;
      if (real) inverse[c] = 1 / std::sqrt(inverse[c] + static_cast<float>(attrs.epsilon));
      scale[c] = real ? gamma[c] * inverse[c] : 0;
      shift[c] = real ? beta[c] - mean[c] * scale[c] : 0;
    }
    normalise<B>(image, arguments.input<float>(0), scale, shift,
                 attrs.activation.kind == ops::Activation::relu, arguments.output<float>(0));
  });
}

// Sums of the gradient, and of the gradient times the normalised input, over one plane.
template <int B, bool Masked>
void add_plane_gradients(const float* d_y, const float* x, const float* y, std::int64_t floats,
                         typename Vec<B>::Floats mean, typename Vec<B>::Floats inverse, float* d_beta,
                         float* d_gamma) {
  using V = Vec<B>;
  typename V::Floats sum{}, product{};
  for (std::int64_t i = 0; i < floats; i += B) {
    auto gradient = V::load(d_y + i);
    if constexpr (Masked) gradient = V::load(y + i) > 0 ? gradient : typename V::Floats{};
    sum += gradient;
    product += gradient * (V::load(x + i) - mean);
  }
  V::store(d_beta, V::load(d_beta) + sum);
  V::store(d_gamma, V::load(d_gamma) + product * inverse);
}

template <int B, bool Masked>
void run_grad_blocks(const Arguments& arguments, const BlockedImage& image) {
  using V = Vec<B>;
  const float *d_y = arguments.input<float>(0), *x = arguments.input<float>(1),
              *gamma = arguments.input<float>(2);
  const float *mean = arguments.input<float>(3), *inverse = arguments.input<float>(4);
  const float* y = Masked ? arguments.input<float>(5) : nullptr;
  float *d_x = arguments.output<float>(0), *d_gamma = arguments.output<float>(1),
        *d_beta = arguments.output<float>(2);
  const std::int64_t channels = padded_channels(image),
                     threads = std::min<std::int64_t>(thread_count(), image.images);
  float* partial = reinterpret_cast<float*>(arguments.memory.workspace);
  float* padded = partial + 2 * threads * channels;  // mean, inverse deviation and more, padded with zeros

  for (std::int64_t c = 0; c < channels; ++c) {
    padded[c] = padded_at(mean, c, image);
    padded[channels + c] = padded_at(inverse, c, image);
  }
  parallel_chunks(threads, 1, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t t = first; t < last; ++t) {
      float* sums = partial + 2 * t * channels;
      std::fill(sums, sums + 2 * channels, 0.0f);
      for (std::int64_t n = image.images * t / threads; n < image.images * (t + 1) / threads; ++n)
        for (std::int64_t b = 0; b < image.blocks; ++b) {
          const std::int64_t at = (n * image.blocks + b) * image.plane();
          add_plane_gradients<B, Masked>(d_y + at, x + at, Masked ? y + at : nullptr, image.plane(),
                                         V::load(padded + b * B), V::load(padded + channels + b * B),
                                         sums + b * B, sums + channels + b * B);
        }
    }
  });
  // d_x = g (d_y - mean(d_y) - xhat mean(d_y xhat)), g = gamma / deviation, as d_y * a + x * b + c per
  // channel.
  float *a = padded + 2 * channels, *b_factor = a + channels, *c_shift = b_factor + channels;
  const auto count = static_cast<float>(image.images * image.pixels());
  for (std::int64_t c = 0; c < channels; ++c) {
    float sum = 0, product = 0;
    for (std::int64_t t = 0; t < threads; ++t) {
      sum += partial[2 * t * channels + c];
      product += partial[(2 * t + 1) * channels + c];
    }
    if (c < image.channels) {
      d_beta[c] = sum;
      d_gamma[c] = product;
    }
    a[c] = padded_at(gamma, c, image) * padded[channels + c];
    b_factor[c] = -a[c] * padded[channels + c] * product / count;
    c_shift[c] = -a[c] * sum / count - b_factor[c] * padded[c];
  }
  parallel_chunks(image.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t p = begin * image.blocks; p < end * image.blocks; ++p) {
      const std::int64_t at = p * image.plane(), block = p % image.blocks * B;
      const auto va = V::load(a + block), vb = V::load(b_factor + block), vc = V::load(c_shift + block);
      for (std::int64_t i = at; i < at + image.plane(); i += B) {
        auto gradient = V::load(d_y + i);
        if constexpr (Masked) gradient = V::load(y + i) > 0 ? gradient : typename V::Floats{};
        V::store(d_x + i, gradient * va + (V::load(x + i) * vb + vc));
      }
    }
  });
}

void run_grad(const Arguments& arguments) {
  const BlockedImage image(arguments.io.inputs[1], arguments.node.input_shape(1));
  with_block(image.block, [&]<int B>() {
    if (arguments.node.attrs<ops::BatchNormGradAttrs>().mask_by_dst)
      run_grad_blocks<B, true>(arguments, image);
    else
      run_grad_blocks<B, false>(arguments, image);
  });
}

Decision accept_forward(const KernelRequest& request) {
  const ops::Activation kind = request.node.attrs<ops::BatchNormAttrs>().activation.kind;
  if (kind != ops::Activation::none && kind != ops::Activation::relu) return Decision::no("fuses ReLU only");
  return wants_image(request.node);
}

Decision accept_grad(const KernelRequest& request) { return wants_image(request.node); }

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const Layout layout = blocked_layout(request, 0);
  const BlockedImage image(layout, request.node.input_shape(0));
  KernelIo io = plain_io(request.node);
  io.inputs[0] = io.outputs[0] = layout;
  io.workspace_bytes = workspace_floats(image) * sizeof(double);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_forward);
}

std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  const Layout layout = blocked_layout(request, 1);
  const BlockedImage image(layout, request.node.input_shape(1));
  KernelIo io = plain_io(request.node);
  io.inputs[0] = io.inputs[1] = io.outputs[0] = layout;
  if (io.inputs.size() == 6) io.inputs[5] = layout;
  io.workspace_bytes =
      (workspace_floats(image) + static_cast<std::size_t>(5 * padded_channels(image))) * sizeof(float);
  io.in_place = {{0, 0}};
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_grad);
}

}  // namespace

std::vector<Candidate> batch_norm_candidates() {
  return {{&ops::batch_norm_op, "own:batch_norm", accept_forward, make_forward},
          {&ops::batch_norm_grad_op, "own:batch_norm_grad", accept_grad, make_grad}};
}

}  // namespace trainyard::backend::onednn
