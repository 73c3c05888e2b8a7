#include "backend/onednn/shape.h"

#include "backend/onednn/backend.h"
#include "base/parallel.h"
#include "ops/shape.h"

namespace trainyard::backend::onednn {

namespace {

// A run of channels of one row of pixels.
void copy_run(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
              std::int64_t channels, std::int64_t pixels) {
  if (channels == from_stride && channels == to_stride) {
    std::copy(from, from + pixels * channels, to);
    return;
  }
  for (std::int64_t p = 0; p < pixels; ++p, from += from_stride, to += to_stride)
    std::copy(from, from + channels, to);
}

// Neighbouring channels at one pixel: up to the end of a block, or all of them where channels come last.
std::int64_t run_from(const ImageView& image, std::int64_t channel) {
  return image.block_stride == image.lanes ? image.channels - channel : image.lanes - channel % image.lanes;
}

std::int64_t offset_of(const ImageView& image, std::int64_t n, std::int64_t channel, std::int64_t row,
                       std::int64_t column) {
  return n * image.image_stride + channel / image.lanes * image.block_stride + channel % image.lanes +
         (row * image.width + column) * image.pixel_stride;
}

}  // namespace

void copy_box(const ImageView& src, const float* from, BoxCorner src_corner, const ImageView& dst, float* to,
              BoxCorner dst_corner, std::int64_t channels, std::int64_t rows, std::int64_t columns) {
  parallel_chunks(src.images, 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t c = 0; c < channels;) {
        const std::int64_t sc = src_corner.channel + c, dc = dst_corner.channel + c;
        const std::int64_t run = std::min({channels - c, run_from(src, sc), run_from(dst, dc)});
        for (std::int64_t row = 0; row < rows; ++row)
          copy_run(from + offset_of(src, n, sc, src_corner.row + row, src_corner.column), src.pixel_stride,
                   to + offset_of(dst, n, dc, dst_corner.row + row, dst_corner.column), dst.pixel_stride, run,
                   columns);
        c += run;
      }
    }
  });
}

namespace {

void run_concat(const Arguments& arguments) {
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  float* to = arguments.output<float>(0);
  BoxCorner corner;
  // The padding of the last block belongs to no part.
  if (dst.pads()) std::fill(to, to + dst.floats(), 0.0f);
  for (int i = 0; i < arguments.node.inputs(); ++i) {
    const ImageView part(arguments.io.inputs[static_cast<std::size_t>(i)], arguments.node.input_shape(i));
    copy_box(part, arguments.input<float>(i), {}, dst, to, corner, part.channels, part.height, part.width);
    corner.channel += part.channels;
  }
}

Decision accept_concat(const KernelRequest& request) {
  if (request.node.attrs<ops::ConcatAttrs>().axis != 1) return Decision::no("joins channels only");
  return wants_image(request.node);
}

std::unique_ptr<Kernel> make_concat(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  KernelIo io = plain_io(request.node);
  std::fill(io.inputs.begin(), io.inputs.end(), layout);
  io.outputs[0] = layout;
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_concat);
}

void run_pad(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::PadAttrs>();
  const ImageView src(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  float* to = arguments.output<float>(0);
  std::fill(to, to + dst.floats(), 0.0f);
  copy_box(src, arguments.input<float>(0), {}, dst, to, {attrs.before[1], attrs.before[2], attrs.before[3]},
           src.channels, src.height, src.width);
}

Decision accept_pad(const KernelRequest& request) {
  const Decision image = wants_image(request.node);
  if (!image.accepted()) return image;
  if (request.node.input_shape(0)[0] != request.node.output_shape(0)[0])
    return Decision::no("pads the batch");
  if (request.input_or_plain(0).is_plain())
    return Decision::no("a plain image stays plain: a copy costs less than a reorder");
  return Decision::yes();
}

std::unique_ptr<Kernel> make_pad(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout}, 0, {}}, run_pad);
}

void run_slice(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::SliceAttrs>();
  const ImageView src(arguments.io.inputs[0], arguments.node.input_shape(0));
  const ImageView dst(arguments.io.outputs[0], arguments.node.output_shape(0));
  float* to = arguments.output<float>(0);
  if (dst.pads()) std::fill(to, to + dst.floats(), 0.0f);
  copy_box(src, arguments.input<float>(0), {attrs.begin[1], attrs.begin[2], attrs.begin[3]}, dst, to, {},
           dst.channels, dst.height, dst.width);
}

Decision accept_slice(const KernelRequest& request) {
  const Decision image = wants_image(request.node);
  if (!image.accepted()) return image;
  if (request.node.input_shape(0)[0] != request.node.output_shape(0)[0])
    return Decision::no("cuts the batch");
  return Decision::yes();
}

std::unique_ptr<Kernel> make_slice(const KernelRequest& request) {
  const Layout layout = image_layout(request, 0);
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{layout}, {layout}, 0, {}}, run_slice);
}

}  // namespace

std::vector<Candidate> shape_candidates() {
  return {{&ops::concat_op, "own:concat", accept_concat, make_concat},
          {&ops::pad_op, "own:pad", accept_pad, make_pad},
          {&ops::slice_op, "own:slice", accept_slice, make_slice}};
}

}  // namespace trainyard::backend::onednn
