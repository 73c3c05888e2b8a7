#include "ops/norm.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "base/parallel.h"

// Two passes over the data each way, both split by image so that a thread meets its own images again in
// cache.
namespace trainyard::backend::onednn {
namespace {

std::int64_t threads_for(const ImageView& image) {
  return std::min<std::int64_t>(thread_count(), image.images);
}

// Thread t takes this share of the images. The cut depends on the thread count alone, so results are the same
// in every run.
struct Share {
  std::int64_t begin, end;
  Share(const ImageView& image, std::int64_t t)
      : begin(image.images * t / threads_for(image)), end(image.images * (t + 1) / threads_for(image)) {}
};

// Each thread's sums: mean and squared deviation so far (double), then sums of the image at hand (float).
std::size_t moment_bytes(const ImageView& image) {
  return static_cast<std::size_t>(3 * image.padded_channels() * thread_count()) * sizeof(double);
}

// Adds the mean and squared deviations of one image to those of `count` earlier pixels (Chan et al., 1979).
// Sums within an image are taken relative to its first pixel, which keeps them accurate in f32.
template <int L>
void add_image_moments(const ImageView& image, const float* x, double count, double* mean, double* deviation,
                       float* sums) {
  using V = Vec<L>;
  float* squares = sums + image.padded_channels();
  std::fill(sums, sums + 2 * image.padded_channels(), 0.0f);
  for_each_strip(image, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t b = 0; b < image.blocks; ++b) {
      const float* block = x + b * image.block_stride;
      const auto shift = V::load(block);
      auto sum = V::load(sums + b * L), square = V::load(squares + b * L);
      for (std::int64_t p = first; p < last; ++p) {
        const auto d = V::load(block + p * image.pixel_stride) - shift;
        sum += d;
        square += d * d;
      }
      V::store(sums + b * L, sum);
      V::store(squares + b * L, square);
    }
  });
  const auto n = static_cast<double>(image.pixels()), total = count + n;
  for (std::int64_t c = 0; c < image.padded_channels(); ++c) {
    const double sum = static_cast<double>(sums[c]);
    const double shift = static_cast<double>(x[c / L * image.block_stride + c % L]);
    const double delta = shift + sum / n - mean[c];
    deviation[c] += static_cast<double>(squares[c]) - sum * sum / n + delta * delta * count * n / total;
    mean[c] += delta * n / total;
  }
}

// Mean and biased variance of every channel; the threads' shares are joined in order.
template <int L>
void batch_moments(const ImageView& image, const float* x, double* workspace, float* mean, float* variance) {
  const std::int64_t channels = image.padded_channels(), threads = threads_for(image);
  parallel_chunks(threads, 1, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t t = first; t < last; ++t) {
      double* means = workspace + 3 * t * channels;
      std::fill(means, means + 2 * channels, 0.0);
      const Share share(image, t);
      for (std::int64_t n = share.begin; n < share.end; ++n)
        add_image_moments<L>(image, x + n * image.image_stride,
                             static_cast<double>((n - share.begin) * image.pixels()), means, means + channels,
                             reinterpret_cast<float*>(means + 2 * channels));
    }
  });
  for (std::int64_t c = 0; c < image.channels; ++c) {
    double count = 0, joined_mean = 0, joined_deviation = 0;
    for (std::int64_t t = 0; t < threads; ++t) {
      const Share share(image, t);
      const auto n = static_cast<double>((share.end - share.begin) * image.pixels());
      const double delta = workspace[3 * t * channels + c] - joined_mean;
      joined_deviation += workspace[(3 * t + 1) * channels + c] + delta * delta * count * n / (count + n);
      joined_mean += delta * n / (count + n);
      count += n;
    }
    mean[c] = static_cast<float>(joined_mean);
    variance[c] = static_cast<float>(joined_deviation / count);
  }
}

template <int L, bool Relu>
void normalise(const ImageView& image, const float* x, const float* scale, const float* shift, float* y) {
  using V = Vec<L>;
  parallel_chunks(image.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n)
      for_each_strip(image, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t b = 0; b < image.blocks; ++b) {
          const auto a = V::load(scale + b * L), s = V::load(shift + b * L);
          const std::int64_t at = n * image.image_stride + b * image.block_stride;
          for (std::int64_t i = at + first * image.pixel_stride; i < at + last * image.pixel_stride;
               i += image.pixel_stride) {
            const auto value = V::load(x + i) * a + s;
            V::store(y + i, Relu ? (value > 0 ? value : typename V::Floats{}) : value);
          }
        }
      });
  });
}

struct Statistics {
  const float *mean, *inverse;
};

// Holds the factor and the shift of one pixel.
void find_factors(const Arguments& arguments, const ImageView& image, const Statistics& found, float* scale,
                  float* shift) {
  const float *gamma = arguments.input<float>(1), *beta = arguments.input<float>(2);
  for (std::int64_t c = 0; c < image.padded_channels(); ++c) {
    const bool real = c < image.channels;
    scale[c] = real ? gamma[c] * found.inverse[c] : 0;
    shift[c] = real ? beta[c] - found.mean[c] * scale[c] : 0;
  }
}

// inverse_deviation holds the variance when this is called.
Statistics finish_statistics(const Arguments& arguments, const ImageView& image) {
  const auto epsilon = static_cast<float>(arguments.node.attrs<ops::BatchNormAttrs>().epsilon);
  auto* inverse = arguments.output<float>(2);
  for (std::int64_t c = 0; c < image.channels; ++c) inverse[c] = 1 / std::sqrt(inverse[c] + epsilon);
  return {arguments.output<float>(1), inverse};
}

void update_running(const Arguments& arguments, const ImageView& image) {
  const float *mean = arguments.output<float>(1), *variance = arguments.output<float>(2);
  float *running_mean = arguments.state<float>(3), *running_variance = arguments.state<float>(4);
  const auto count = static_cast<float>(image.images * image.pixels());
  const auto momentum = static_cast<float>(arguments.node.attrs<ops::BatchNormAttrs>().momentum);
  for (std::int64_t c = 0; c < image.channels; ++c) {
    running_mean[c] += momentum * (mean[c] - running_mean[c]);
    running_variance[c] += momentum * (variance[c] * count / std::max(count - 1, 1.0f) - running_variance[c]);
  }
}

void run_forward(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::BatchNormAttrs>();
  const ImageView image(arguments.io.inputs[0], arguments.node.input_shape(0));
  auto* sums = reinterpret_cast<double*>(arguments.memory.workspace);
  const float* x = arguments.input<float>(0);
  with_lanes(image.lanes, [&]<int L>() {
    if (attrs.training) {
      batch_moments<L>(image, x, sums, arguments.output<float>(1), arguments.output<float>(2));
      update_running(arguments, image);
    } else {
      std::copy_n(arguments.input<float>(3), image.channels, arguments.output<float>(1));
      std::copy_n(arguments.input<float>(4), image.channels, arguments.output<float>(2));
    }
    // The sums are spent: their memory holds the factors.
    float *scale = reinterpret_cast<float*>(sums), *shift = scale + image.padded_channels();
    find_factors(arguments, image, finish_statistics(arguments, image), scale, shift);
    if (attrs.activation.kind == ops::Activation::relu)
      normalise<L, true>(image, x, scale, shift, arguments.output<float>(0));
    else
      normalise<L, false>(image, x, scale, shift, arguments.output<float>(0));
  });
}

void run_apply(const Arguments& arguments) {
  const ImageView image(arguments.io.inputs[0], arguments.node.input_shape(0));
  auto* scale = reinterpret_cast<float*>(arguments.memory.workspace);
  float* shift = scale + image.padded_channels();
  const auto* x = arguments.input<float>(0);
  find_factors(arguments, image, {arguments.input<float>(3), arguments.input<float>(4)}, scale, shift);
  with_lanes(image.lanes, [&]<int L>() {
    if (arguments.node.attrs<ops::BatchNormApplyAttrs>().activation.kind == ops::Activation::relu)
      normalise<L, true>(image, x, scale, shift, arguments.output<float>(0));
    else
      normalise<L, false>(image, x, scale, shift, arguments.output<float>(0));
  });
}

// Pointers and per-channel numbers of one gradient; the numbers are padded so that a block loads as one
// vector.
struct Gradient {
  const float *d_y, *x, *y;
  float* d_x;
  float *mean, *inverse;                  // of the batch
  float *by_gradient, *by_input, *shift;  // d_x = d_y * by_gradient + x * by_input + shift
};

template <int L, bool Masked>
typename Vec<L>::Floats masked_gradient(const Gradient& g, std::int64_t i) {
  const auto gradient = Vec<L>::load(g.d_y + i);
  if constexpr (Masked) return Vec<L>::load(g.y + i) > 0 ? gradient : typename Vec<L>::Floats{};
  return gradient;
}

// Adds up the gradient, and the gradient times the normalised input, of one image.
template <int L, bool Masked>
void add_image_gradients(const ImageView& image, const Gradient& g, std::int64_t n, float* d_beta,
                         float* d_gamma) {
  using V = Vec<L>;
  for_each_strip(image, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t b = 0; b < image.blocks; ++b) {
      const auto mean = V::load(g.mean + b * L), inverse = V::load(g.inverse + b * L);
      typename V::Floats sum{}, product{};
      const std::int64_t at = n * image.image_stride + b * image.block_stride;
      for (std::int64_t i = at + first * image.pixel_stride; i < at + last * image.pixel_stride;
           i += image.pixel_stride) {
        const auto gradient = masked_gradient<L, Masked>(g, i);
        sum += gradient;
        product += gradient * (V::load(g.x + i) - mean);
      }
      V::store(d_beta + b * L, V::load(d_beta + b * L) + sum);
      V::store(d_gamma + b * L, V::load(d_gamma + b * L) + product * inverse);
    }
  });
}

template <int L, bool Masked>
void write_image_gradient(const ImageView& image, const Gradient& g, std::int64_t n) {
  using V = Vec<L>;
  for_each_strip(image, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t b = 0; b < image.blocks; ++b) {
      const auto by_gradient = V::load(g.by_gradient + b * L), by_input = V::load(g.by_input + b * L),
                 shift = V::load(g.shift + b * L);
      const std::int64_t at = n * image.image_stride + b * image.block_stride;
      for (std::int64_t i = at + first * image.pixel_stride; i < at + last * image.pixel_stride;
           i += image.pixel_stride)
        V::store(g.d_x + i,
                 masked_gradient<L, Masked>(g, i) * by_gradient + (V::load(g.x + i) * by_input + shift));
    }
  });
}

// d_x = a (d_y - mean(d_y) - xhat mean(d_y xhat)) with a = gamma / deviation, as three numbers per channel.
void finish_gradient(const Arguments& arguments, const ImageView& image, const Gradient& g,
                     const float* partial) {
  const float* gamma = arguments.input<float>(2);
  float *d_gamma = arguments.output<float>(1), *d_beta = arguments.output<float>(2);
  const std::int64_t channels = image.padded_channels();
  const auto count = static_cast<float>(image.images * image.pixels());
  for (std::int64_t c = 0; c < channels; ++c) {
    float sum = 0, product = 0;
    for (std::int64_t t = 0; t < threads_for(image); ++t) {
      sum += partial[2 * t * channels + c];
      product += partial[(2 * t + 1) * channels + c];
    }
    const bool real = c < image.channels;
    if (real) {
      d_beta[c] = sum;
      d_gamma[c] = product;
    }
    g.by_gradient[c] = real ? gamma[c] * g.inverse[c] : 0;
    g.by_input[c] = -g.by_gradient[c] * g.inverse[c] * product / count;
    g.shift[c] = -g.by_gradient[c] * sum / count - g.by_input[c] * g.mean[c];
  }
}

template <int L, bool Masked>
void run_grad_lanes(const Arguments& arguments, const ImageView& image) {
  const std::int64_t channels = image.padded_channels(), threads = threads_for(image);
  float* padded = reinterpret_cast<float*>(arguments.memory.workspace);
  const Gradient g{arguments.input<float>(0),
                   arguments.input<float>(1),
                   Masked ? arguments.input<float>(5) : nullptr,
                   arguments.output<float>(0),
                   padded,
                   padded + channels,
                   padded + 2 * channels,
                   padded + 3 * channels,
                   padded + 4 * channels};
  float* partial = padded + 5 * channels;
  std::fill(padded, partial + 2 * threads * channels, 0.0f);
  std::copy_n(arguments.input<float>(3), image.channels, g.mean);
  std::copy_n(arguments.input<float>(4), image.channels, g.inverse);
  parallel_chunks(threads, 1, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t t = first; t < last; ++t) {
      float* sums = partial + 2 * t * channels;
      for (std::int64_t n = Share(image, t).begin; n < Share(image, t).end; ++n)
        add_image_gradients<L, Masked>(image, g, n, sums, sums + channels);
    }
  });
  finish_gradient(arguments, image, g, partial);
  parallel_chunks(image.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n) write_image_gradient<L, Masked>(image, g, n);
  });
}

void run_grad(const Arguments& arguments) {
  const ImageView image(arguments.io.inputs[1], arguments.node.input_shape(1));
  with_lanes(image.lanes, [&]<int L>() {
    if (arguments.node.attrs<ops::BatchNormGradAttrs>().mask_by_dst)
      run_grad_lanes<L, true>(arguments, image);
    else
      run_grad_lanes<L, false>(arguments, image);
  });
}

template <typename Attrs>
Decision accept_forward(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<Attrs>();
  const ops::Activation kind = attrs.activation.kind;
  if (attrs.residual) return Decision::no("adds no residual");
  if (kind != ops::Activation::none && kind != ops::Activation::relu) return Decision::no("fuses ReLU only");
  return wants_image(request.node);
}

Decision accept_grad(const KernelRequest& request) {
  // Reading dst is cheap where it lies in a cache; computing it again is not.
  if (request.node.attrs<ops::BatchNormGradAttrs>().mask_by_beta) return Decision::no("masks by dst only");
  return wants_image(request.node);
}

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  const ImageView image(layout, request.node.input_shape(0));
  KernelIo io = plain_io(request.node);
  io.inputs[0] = io.outputs[0] = layout;
  io.workspace_bytes = moment_bytes(image);
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_forward);
}

std::unique_ptr<Kernel> make_apply(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  KernelIo io = plain_io(request.node);
  io.inputs[0] = io.outputs[0] = layout;
  io.workspace_bytes =
      static_cast<std::size_t>(2 * ImageView(layout, request.node.input_shape(0)).padded_channels()) *
      sizeof(float);
  io.in_place = {{0, 0}};
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_apply);
}

std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  const Layout layout = image_layout(request, 1);
  const ImageView image(layout, request.node.input_shape(1));
  KernelIo io = plain_io(request.node);
  io.inputs[0] = io.inputs[1] = io.outputs[0] = layout;
  if (io.inputs.size() == 6) io.inputs[5] = layout;
  io.workspace_bytes =
      static_cast<std::size_t>((5 + 2 * thread_count()) * image.padded_channels()) * sizeof(float);
  io.in_place = {{0, 0}};
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_grad);
}

}  // namespace

std::vector<Candidate> batch_norm_candidates() {
  return {{&ops::batch_norm_op, "own:batch_norm", accept_forward<ops::BatchNormAttrs>, make_forward},
          {&ops::batch_norm_apply_op, "own:batch_norm_apply", accept_forward<ops::BatchNormApplyAttrs>,
           make_apply},
          {&ops::batch_norm_grad_op, "own:batch_norm_grad", accept_grad, make_grad}};
}

}  // namespace trainyard::backend::onednn
