#include "backend/onednn/conv2d_few_channels.h"

#include <algorithm>
#include <array>

#include "backend/onednn/image_view.h"
#include "base/parallel.h"
#include "ops/conv2d.h"
#include "tensor/host_tensor.h"

namespace trainyard::backend::onednn {
namespace {

// Sums that fit the register file beside what they are made of.
#ifdef __AVX512F__
constexpr int kSums = 28;
constexpr int kPixels = 12;  // of a forward pass, times two blocks of channels
#else
constexpr int kSums = 12;
constexpr int kPixels = 5;
#endif

// Rows of the window whose weight gradients are summed in one go.
constexpr int rows_together(int kernel_w) { return kSums / kernel_w > 0 ? kSums / kernel_w : 1; }

// Calls function.template operator()<KW>() with the width of the window as a constant.
template <typename Function>
void with_kernel_width(std::int64_t kernel_w, const Function& function) {
  switch (kernel_w) {
    case 1:
      return function.template operator()<1>();
    case 3:
      return function.template operator()<3>();
    case 5:
      return function.template operator()<5>();
    case 7:
      return function.template operator()<7>();
    default:
      TRAINYARD_CHECK(kernel_w == 11);
      return function.template operator()<11>();
  }
}

// The padded copy of one image in which every tap of every output lies, and where.
struct Taps {
  ops::Window2d window;
  std::int64_t channels, height, width;  // of the image
  std::int64_t padded_h, padded_w;
  ImageView dst;

  Taps(const ops::Window2d& w, const Shape& src, const Layout& dst_layout, const Shape& dst_shape)
      : window(w), channels(src[1]), height(src[2]), width(src[3]), dst(dst_layout, dst_shape) {
    padded_h = (dst.height - 1) * w.stride_h + w.reach_h();
    padded_w = (dst.width - 1) * w.stride_w + w.reach_w();
    // A forward pass reads whole runs of pixels, also beyond the end of a row.
    padded_w += kPixels * w.stride_w;
  }
  std::int64_t count() const { return channels * window.area(); }
  std::int64_t padded_floats() const { return channels * padded_h * padded_w; }

  // Rows of the window, over all channels, and where each begins.
  std::int64_t rows() const { return channels * window.kernel_h; }
  std::int64_t row_offset(std::int64_t row) const {
    return (row / window.kernel_h * padded_h + row % window.kernel_h) * padded_w;
  }
  // Copies one image; what lies outside of it was zeroed once and stays so.
  void copy_image(const float* image, float* padded) const {
    const std::int64_t rows = std::min(height, padded_h - window.pad_top);
    const std::int64_t columns = std::min(width, padded_w - window.pad_left);
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t row = 0; row < rows; ++row)
        std::copy_n(image + (c * height + row) * width, columns,
                    padded + (c * padded_h + row + window.pad_top) * padded_w + window.pad_left);
  }
};

// The sums stay in registers: the loops over them must be unrolled for that, which the compiler does not do
// by itself. Stride 0 stands for any.
template <int L, int P, int Blocks, int Stride>
void forward_run(const Taps& taps, const float* padded, const float* table, const float* bias, bool relu,
                 float* y) {
  using V = Vec<L>;
  typename V::Floats sum[P][Blocks];
#pragma GCC unroll 32
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
    for (int b = 0; b < Blocks; ++b) sum[p][b] = V::load(bias + b * L);
  const std::int64_t stride = Stride > 0 ? Stride : taps.window.stride_w, row = taps.dst.padded_channels();
  for (std::int64_t r = 0; r < taps.rows(); ++r) {
    const float* x = padded + taps.row_offset(r);
    for (std::int64_t kx = 0; kx < taps.window.kernel_w; ++kx, ++x, table += row) {
      typename V::Floats weight[Blocks];
#pragma GCC unroll 2
      for (int b = 0; b < Blocks; ++b) weight[b] = V::load(table + b * L);
#pragma GCC unroll 32
      for (int p = 0; p < P; ++p) {
        const auto value = V::splat(x[p * stride]);
#pragma GCC unroll 2
        for (int b = 0; b < Blocks; ++b) sum[p][b] += value * weight[b];
      }
    }
  }
#pragma GCC unroll 32
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
    for (int b = 0; b < Blocks; ++b) {
      const auto value = relu ? (sum[p][b] > 0 ? sum[p][b] : typename V::Floats{}) : sum[p][b];
      V::store(y + p * taps.dst.pixel_stride + b * taps.dst.block_stride, value);
    }
}

template <int L, int Blocks, int Stride>
void forward_row(const Taps& taps, const float* x, const float* table, const float* bias, bool relu,
                 float* y) {
  std::int64_t ow = 0;
  const auto run = [&]<int P>() {
    for (; ow + P <= taps.dst.width; ow += P)
      forward_run<L, P, Blocks, Stride>(taps, x + ow * taps.window.stride_w, table, bias, relu,
                                        y + ow * taps.dst.pixel_stride);
  };
  run.template operator()<kPixels>();
  run.template operator()<4>();
  run.template operator()<1>();
}

class FewChannels final : public Kernel {
 public:
  FewChannels(KernelIo io, const graph::NodeView& node)
      : Kernel(std::move(io)),
        node_(node),
        taps_(node.attrs<ops::Conv2dAttrs>().window, node.input_shape(0), io_.outputs[0],
              node.output_shape(0)) {
    io_.workspace_bytes =
        align_up(static_cast<std::size_t>((taps_.count() + 1) * taps_.dst.padded_channels()) * 4) +
        align_up(static_cast<std::size_t>(taps_.padded_floats()) * 4) *
            static_cast<std::size_t>(thread_count());
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
    const float* bias = table + taps_.count() * taps_.dst.padded_channels();
    const bool relu = node_.attrs<ops::Conv2dAttrs>().activation.kind == ops::Activation::relu;
    std::byte* scratch =
        binding_.workspace +
        align_up(static_cast<std::size_t>((taps_.count() + 1) * taps_.dst.padded_channels()) * 4);
    const std::int64_t image = taps_.channels * taps_.height * taps_.width;
    parallel_chunks(taps_.dst.images, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      auto* padded =
          reinterpret_cast<float*>(scratch + align_up(static_cast<std::size_t>(taps_.padded_floats()) * 4) *
                                                 static_cast<std::size_t>(thread));
      std::fill_n(padded, taps_.padded_floats(), 0.0f);
      for (std::int64_t n = begin; n < end; ++n) {
        taps_.copy_image(reinterpret_cast<const float*>(binding_.inputs[0]) + n * image, padded);
        auto* y = reinterpret_cast<float*>(binding_.outputs[0]) + n * taps_.dst.image_stride;
        for (std::int64_t oh = 0; oh < taps_.dst.height; ++oh) run_row<L>(oh, padded, table, bias, relu, y);
      }
    });
  }

  template <int L>
  void run_row(std::int64_t oh, const float* padded, const float* table, const float* bias, bool relu,
               float* y) {
    const float* x = padded + oh * taps_.window.stride_h * taps_.padded_w;
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

  graph::NodeView node_;
  Taps taps_;
  Binding binding_;
};

// Adds one block of output channels of one image: table(tap, o) += sum over pixels of d_y(pixel, o) * x(pixel
// + tap), for all taps of a few rows of the window, whose sums stay in registers.
template <int L, int KW, int Rows>
void add_gradient(const Taps& taps, const float* padded, const std::int64_t* row_offsets, const float* d_y,
                  float* table) {
  using V = Vec<L>;
  typename V::Floats sum[Rows * KW];
#pragma GCC unroll 32
  for (int t = 0; t < Rows * KW; ++t) sum[t] = V::load(table + t * L);
  for (std::int64_t oh = 0; oh < taps.dst.height; ++oh) {
    const float* x[Rows];
#pragma GCC unroll 32
    for (int r = 0; r < Rows; ++r) x[r] = padded + row_offsets[r] + oh * taps.window.stride_h * taps.padded_w;
    for (std::int64_t ow = 0; ow < taps.dst.width; ++ow, d_y += taps.dst.pixel_stride) {
      const auto gradient = V::load(d_y);
      const std::int64_t at = ow * taps.window.stride_w;
#pragma GCC unroll 32
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
        for (int kx = 0; kx < KW; ++kx) sum[r * KW + kx] += gradient * V::splat(x[r][at + kx]);
    }
  }
#pragma GCC unroll 32
  for (int t = 0; t < Rows * KW; ++t) V::store(table + t * L, sum[t]);
}

template <int L>
void add_bias_gradient(const Taps& taps, const float* d_y, float* sums) {
  auto sum = Vec<L>::load(sums);
  for (std::int64_t p = 0; p < taps.dst.pixels(); ++p) sum += Vec<L>::load(d_y + p * taps.dst.pixel_stride);
  Vec<L>::store(sums, sum);
}

class FewChannelsGradient final : public Kernel {
 public:
  FewChannelsGradient(KernelIo io, const graph::NodeView& node)
      : Kernel(std::move(io)),
        node_(node),
        taps_(node.attrs<ops::Conv2dGradAttrs>().conv.window, node.input_shape(1), io_.inputs[0],
              node.input_shape(0)) {
    together_ = rows_together(static_cast<int>(taps_.window.kernel_w));
    groups_ = (taps_.rows() + together_ - 1) / together_;
    // The last group may have idle rows: they sum something harmless that nobody reads.
    for (std::int64_t row = 0; row < groups_ * together_; ++row)
      row_offsets_.push_back(row < taps_.rows() ? taps_.row_offset(row) : 0);
    places_ = groups_ * together_ * taps_.window.kernel_w;
    table_bytes_ = align_up(static_cast<std::size_t>((places_ + 1) * taps_.dst.padded_channels()) * 4);
    thread_bytes_ = table_bytes_ + align_up(static_cast<std::size_t>(taps_.padded_floats()) * 4);
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

  // A thread's table: for each block of output channels the sums tap by tap, then the bias.
  template <int L>
  void run_lanes() {
    const std::int64_t threads = std::min<std::int64_t>(thread_count(), taps_.dst.images);
    const std::int64_t image = taps_.channels * taps_.height * taps_.width, block_floats = (places_ + 1) * L;
    parallel_chunks(threads, 1, [&](std::int64_t first, std::int64_t last, int) {
      for (std::int64_t t = first; t < last; ++t) {
        float *table = table_of(t), *padded = table + table_bytes_ / 4;
        std::fill_n(table, thread_bytes_ / 4, 0.0f);
        for (std::int64_t n = taps_.dst.images * t / threads; n < taps_.dst.images * (t + 1) / threads; ++n) {
          taps_.copy_image(reinterpret_cast<const float*>(binding_.inputs[1]) + n * image, padded);
          const float* d_y = reinterpret_cast<const float*>(binding_.inputs[0]) + n * taps_.dst.image_stride;
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
    if (node_.attrs<ops::Conv2dGradAttrs>().bias) add_bias_gradient<L>(taps_, d_y, table + places_ * L);
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
    if (node_.attrs<ops::Conv2dGradAttrs>().bias)
      for (std::int64_t o = 0; o < taps_.dst.channels; ++o)
        reinterpret_cast<float*>(binding_.outputs[1])[o] = total(o, places_);
  }

  graph::NodeView node_;
  Taps taps_;
  std::int64_t together_, groups_, places_;
  std::vector<std::int64_t> row_offsets_;
  std::size_t table_bytes_, thread_bytes_;
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

}  // namespace

Decision accept_few_channels(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<ops::Conv2dAttrs>();
  if (attrs.activation.kind != ops::Activation::none && attrs.activation.kind != ops::Activation::relu)
    return Decision::no("fuses ReLU only");
  return accept_image(request.node, 0, attrs);
}

std::unique_ptr<Kernel> make_few_channels(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.outputs[0] = preferred_image_layout();
  return std::make_unique<FewChannels>(std::move(io), request.node);
}

Decision accept_few_channels_d_weight(const KernelRequest& request) {
  return accept_image(request.node, 1, request.node.attrs<ops::Conv2dGradAttrs>().conv);
}

std::unique_ptr<Kernel> make_few_channels_d_weight(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.inputs[0] = image_layout(request, 0);
  return std::make_unique<FewChannelsGradient>(std::move(io), request.node);
}

}  // namespace trainyard::backend::onednn
