// This file computes convolutions on images of up to four channels: the first layer of a network, alone or
// with the max pool behind it.

#include "backend/onednn/backend.h"
#include "backend/onednn/few_channels_image.h"
#include "backend/onednn/max_pool_image.h"
#include "base/parallel.h"
#include "ops/conv2d.h"
#include "tensor/tensor.h"

namespace trainyard::backend::onednn {
namespace {

// A layer holds the attributes and shapes of the op, with or without a max pool after it.
struct Layer {
  ops::Conv2dAttrs conv;
  Shape src, dst;  // of the convolution
  std::optional<ops::Window2d> pool;
};

std::size_t float_bytes(std::int64_t floats) {
  return align_up(static_cast<std::size_t>(floats) * sizeof(float));
}

// With a pool, one image of the convolution at a time lives in the thread's scratch and never reaches memory.
class FewChannels final : public Kernel {
 public:
  FewChannels(KernelIo io, const Layer& layer, const Shape& output)
      : Kernel(std::move(io)),
        layer_(layer),
        taps_(layer.conv.window, layer.src, io_.outputs[0], layer.dst),
        output_(io_.outputs[0], output),
        table_bytes_(float_bytes((taps_.count() + 1) * taps_.dst.padded_channels())),
        thread_bytes_(float_bytes(taps_.padded_floats()) +
                      (layer.pool ? float_bytes(taps_.dst.image_stride) : 0)) {
    io_.workspace_bytes = table_bytes_ + thread_bytes_ * static_cast<std::size_t>(thread_count());
  }
  void bind(const Binding& binding) override { binding_ = binding; }
  void run(const StepContext&) override {
    with_lanes(taps_.dst.lanes, [&]<int L>() { run_lanes<L>(); });
  }

 private:
  // (O, taps) -> (taps, padded O), the bias in one more row.
  void fill_table(float* table) const {
    const auto* weight = reinterpret_cast<const float*>(binding_.inputs[1]);
    const std::int64_t row = taps_.dst.padded_channels();
    std::fill_n(table, (taps_.count() + 1) * row, 0.0f);
    for (std::int64_t o = 0; o < taps_.dst.channels; ++o)
      for (std::int64_t t = 0; t < taps_.count(); ++t) table[t * row + o] = weight[o * taps_.count() + t];
    if (binding_.inputs.size() == 3)
      std::copy_n(reinterpret_cast<const float*>(binding_.inputs[2]), taps_.dst.channels,
                  table + taps_.count() * row);
  }

  template <int L>
  void run_lanes() {
    auto* table = reinterpret_cast<float*>(binding_.workspace);
    fill_table(table);
    const std::int64_t image = taps_.channels * taps_.height * taps_.width;
    parallel_chunks(taps_.dst.images, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      std::byte* scratch =
          binding_.workspace + table_bytes_ + thread_bytes_ * static_cast<std::size_t>(thread);
      auto* padded = reinterpret_cast<float*>(scratch);
      auto* unpooled = reinterpret_cast<float*>(scratch + float_bytes(taps_.padded_floats()));
      std::fill_n(padded, taps_.padded_floats(), 0.0f);
      for (std::int64_t n = begin; n < end; ++n) {
        taps_.copy_image(reinterpret_cast<const float*>(binding_.inputs[0]) + n * image, padded);
        auto* y = reinterpret_cast<float*>(binding_.outputs[0]) + n * output_.image_stride;
        float* convolved = layer_.pool ? unpooled : y;
        for (std::int64_t oh = 0; oh < taps_.dst.height; ++oh) run_row<L>(oh, padded, table, convolved);
        if (layer_.pool)
          pool_image<L>(*layer_.pool, taps_.dst, output_, convolved, y,
                        reinterpret_cast<std::uint8_t*>(binding_.outputs[1]) + n * output_.image_stride);
      }
    });
  }

  template <int L>
  void run_row(std::int64_t oh, const float* padded, const float* table, float* y) {
    const float* x = padded + oh * taps_.window.stride_h * taps_.padded_w;
    const float* bias = table + taps_.count() * taps_.dst.padded_channels();
    const bool relu = layer_.conv.activation.kind == ops::Activation::relu;
    float* row = y + oh * taps_.dst.width * taps_.dst.pixel_stride;
    for (std::int64_t b = 0; b < taps_.dst.blocks; b += 2) {
      const auto call = [&]<int Blocks>() {
        const auto forward =
            taps_.window.stride_w == 1 ? forward_row<L, Blocks, 1> : forward_row<L, Blocks, 0>;
        forward(taps_, x, table + b * L, bias + b * L, relu, row + b * taps_.dst.block_stride);
      };
      if (b + 2 <= taps_.dst.blocks)
        call.template operator()<2>();
      else
        call.template operator()<1>();
    }
  }

  Layer layer_;
  Taps taps_;
  ImageView output_;
  std::size_t table_bytes_, thread_bytes_;
  Binding binding_;
};

// Inputs: the gradient [, choice, image [, pooled output]] with a pool; the gradient and the image without.
class FewChannelsGradient final : public Kernel {
 public:
  FewChannelsGradient(KernelIo io, const Layer& layer, const Shape& gradient, bool bias)
      : Kernel(std::move(io)),
        layer_(layer),
        taps_(layer.conv.window, layer.src, io_.inputs[0], layer.dst),
        gradient_(io_.inputs[0], gradient),
        bias_(bias) {
    together_ = rows_together(static_cast<int>(taps_.window.kernel_w));
    groups_ = (taps_.rows() + together_ - 1) / together_;
    // The last group may have idle rows: they sum something harmless that nobody reads.
    for (std::int64_t row = 0; row < groups_ * together_; ++row)
      row_offsets_.push_back(row < taps_.rows() ? taps_.row_offset(row) : 0);
    places_ = groups_ * together_ * taps_.window.kernel_w;
    table_bytes_ = float_bytes((places_ + 1) * taps_.dst.padded_channels());
    padded_bytes_ = float_bytes(taps_.padded_floats());
    thread_bytes_ = table_bytes_ + padded_bytes_ + (layer.pool ? float_bytes(taps_.dst.image_stride) : 0);
    io_.workspace_bytes = thread_bytes_ * static_cast<std::size_t>(thread_count());
  }
  void bind(const Binding& binding) override { binding_ = binding; }
  void run(const StepContext&) override {
    with_lanes(taps_.dst.lanes, [&]<int L>() { run_lanes<L>(); });
  }

 private:
  float* table_of(std::int64_t thread) const {
    return reinterpret_cast<float*>(binding_.workspace + thread_bytes_ * static_cast<std::size_t>(thread));
  }
  template <typename T>
  const T* input(std::size_t i, std::int64_t offset) const {
    return reinterpret_cast<const T*>(binding_.inputs[i]) + offset;
  }

  // The gradient of the convolution's output for one image: as given, or spread out from the pool's.
  template <int L>
  const float* image_gradient(std::int64_t n, float* scratch) const {
    const std::int64_t at = n * gradient_.image_stride;
    if (!layer_.pool) return input<float>(0, at);
    unpool_image<L>(*layer_.pool, taps_.dst, gradient_, input<float>(0, at), input<std::uint8_t>(1, at),
                    binding_.inputs.size() == 4 ? input<float>(3, at) : nullptr, scratch);
    return scratch;
  }

  // A thread's table: for each block of output channels the sums tap by tap, then the bias.
  template <int L>
  void run_lanes() {
    const std::int64_t threads = std::min<std::int64_t>(thread_count(), taps_.dst.images);
    const std::int64_t image = taps_.channels * taps_.height * taps_.width, block_floats = (places_ + 1) * L;
    const std::size_t images = layer_.pool ? 2 : 1;
    parallel_chunks(threads, 1, [&](std::int64_t first, std::int64_t last, int) {
      for (std::int64_t t = first; t < last; ++t) {
        float *table = table_of(t), *padded = table + table_bytes_ / 4,
              *unpooled = padded + padded_bytes_ / 4;
        std::fill_n(table, (table_bytes_ + padded_bytes_) / 4, 0.0f);
        for (std::int64_t n = taps_.dst.images * t / threads; n < taps_.dst.images * (t + 1) / threads; ++n) {
          taps_.copy_image(input<float>(images, n * image), padded);
          const float* d_y = image_gradient<L>(n, unpooled);
          for (std::int64_t b = 0; b < taps_.dst.blocks; ++b)
            add_block<L>(padded, d_y + b * taps_.dst.block_stride, table + b * block_floats);
        }
      }
    });
    join<L>(threads, block_floats);
  }

  template <int L>
  void add_block(const float* padded, const float* d_y, float* table) const {
    with_kernel_width(taps_.window.kernel_w, [&]<int KW>() {
      constexpr int kRows = rows_together(KW);
      for (std::int64_t g = 0; g < groups_; ++g)
        add_gradient<L, KW, kRows>(taps_, padded, row_offsets_.data() + g * kRows, d_y,
                                   table + g * kRows * KW * L);
    });
    if (bias_) add_bias_gradient<L>(taps_, d_y, table + places_ * L);
  }

  // Adds the threads' tables in order and writes (O, taps), plain.
  template <int L>
  void join(std::int64_t threads, std::int64_t block_floats) const {
    auto* d_weight = reinterpret_cast<float*>(binding_.outputs[0]);
    const auto total = [&](std::int64_t o, std::int64_t place) {
      float sum = 0;
      for (std::int64_t t = 0; t < threads; ++t) sum += table_of(t)[o / L * block_floats + place * L + o % L];
      return sum;
    };
    for (std::int64_t o = 0; o < taps_.dst.channels; ++o)
      for (std::int64_t tap = 0; tap < taps_.count(); ++tap)
        d_weight[o * taps_.count() + tap] = total(o, tap);
    if (bias_)
      for (std::int64_t o = 0; o < taps_.dst.channels; ++o)
        reinterpret_cast<float*>(binding_.outputs[1])[o] = total(o, places_);
  }

  Layer layer_;
  Taps taps_;
  ImageView gradient_;
  bool bias_;
  std::int64_t together_, groups_, places_;
  std::vector<std::int64_t> row_offsets_;
  std::size_t table_bytes_, padded_bytes_, thread_bytes_;
  Binding binding_;
};

Decision accept_image(const graph::NodeView& node, int src, const ops::Conv2dAttrs& attrs) {
  const Decision image = wants_image(node);
  if (!image.accepted()) return image;
  if (node.input_shape(src)[1] > 4) return Decision::no("more than 4 input channels");
  if (attrs.groups != 1) return Decision::no("wants one group");
  const ops::Window2d& w = attrs.window;
  if (w.dilation_h != 1 || w.dilation_w != 1) return Decision::no("wants no dilation");
  if (w.kernel_w != 1 && w.kernel_w != 3 && w.kernel_w != 5 && w.kernel_w != 7 && w.kernel_w != 11)
    return Decision::no("wants a window 1, 3, 5, 7 or 11 wide");
  return Decision::yes();
}

Decision accept_activation(const ops::Conv2dAttrs& attrs) {
  if (attrs.activation.kind == ops::Activation::none || attrs.activation.kind == ops::Activation::relu)
    return Decision::yes();
  return Decision::no("fuses ReLU only");
}

Decision accept_forward(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<ops::Conv2dAttrs>();
  const Decision activation = accept_activation(attrs);
  return activation.accepted() ? accept_image(request.node, 0, attrs) : activation;
}

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  KernelIo io = plain_io(node);
  io.outputs[0] = preferred_image_layout();
  const Layer layer{node.attrs<ops::Conv2dAttrs>(), node.input_shape(0), node.output_shape(0), {}};
  return std::make_unique<FewChannels>(std::move(io), layer, node.output_shape(0));
}

Decision accept_pooled(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<ops::Conv2dMaxPoolAttrs>();
  const Decision activation = accept_activation(attrs.conv);
  return activation.accepted() ? accept_image(request.node, 0, attrs.conv) : activation;
}

std::unique_ptr<Kernel> make_pooled(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const auto& attrs = node.attrs<ops::Conv2dMaxPoolAttrs>();
  KernelIo io = plain_io(node);
  io.outputs[0] = io.outputs[1] = preferred_image_layout();
  const Layer layer{attrs.conv, node.input_shape(0),
                    ops::convolved_shape(attrs, node.input_shape(0), node.input_shape(1)), attrs.pool};
  return std::make_unique<FewChannels>(std::move(io), layer, node.output_shape(0));
}

Decision accept_d_weight(const KernelRequest& request) {
  return accept_image(request.node, 1, request.node.attrs<ops::Conv2dGradAttrs>().conv);
}

std::unique_ptr<Kernel> make_d_weight(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  KernelIo io = plain_io(node);
  io.inputs[0] = image_layout(request, 0);
  const Layer layer{attrs.conv, node.input_shape(1), node.input_shape(0), {}};
  return std::make_unique<FewChannelsGradient>(std::move(io), layer, node.input_shape(0), attrs.bias);
}

Decision accept_pooled_d_weight(const KernelRequest& request) {
  return accept_image(request.node, 2, request.node.attrs<ops::Conv2dMaxPoolGradAttrs>().forward.conv);
}

std::unique_ptr<Kernel> make_pooled_d_weight(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const auto& attrs = node.attrs<ops::Conv2dMaxPoolGradAttrs>();
  KernelIo io = plain_io(node);
  io.inputs[0] = io.inputs[1] = image_layout(request, 1);
  if (io.inputs.size() == 4) io.inputs[3] = io.inputs[0];
  const Layer layer{attrs.forward.conv, node.input_shape(2),
                    ops::convolved_shape(attrs.forward, node.input_shape(2), attrs.weight),
                    attrs.forward.pool};
  return std::make_unique<FewChannelsGradient>(std::move(io), layer, node.input_shape(0), attrs.bias);
}

}  // namespace

std::vector<Candidate> conv2d_few_channels_candidates() {
  return {{&ops::conv2d_op, "own:conv2d_few_channels", accept_forward, make_forward},
          {&ops::conv2d_d_weight_op, "own:conv2d_d_weight_few_channels", accept_d_weight, make_d_weight},
          {&ops::conv2d_max_pool_op, "own:conv2d_max_pool", accept_pooled, make_pooled},
          {&ops::conv2d_max_pool_d_weight_op, "own:conv2d_max_pool_d_weight", accept_pooled_d_weight,
           make_pooled_d_weight}};
}

}  // namespace trainyard::backend::onednn
