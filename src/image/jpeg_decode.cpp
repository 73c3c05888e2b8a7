#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "image/gray.h"
#include "image/jpeg.h"
#include "image/jpeg_trap.h"

namespace trainyard::image {
namespace {

// A progressive image keeps all of its coefficients.
constexpr long kMaxMemoryBytes = 1l << 30;
constexpr JDIMENSION kRowsAtOnce = 16;

struct Decompressor {
  Decompressor() {
    std::memset(&info, 0, sizeof info);
    info.err = arm(trap);
  }
  ~Decompressor() { jpeg_destroy_decompress(&info); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  JpegTrap trap;
  jpeg_decompress_struct info;
};

struct ReadHeader {
  jpeg_decompress_struct& info;
  std::span<const std::byte> encoded;

  void operator()() const {
    jpeg_create_decompress(&info);
    info.mem->max_memory_to_use = kMaxMemoryBytes;
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(encoded.data()), encoded.size());
    jpeg_read_header(&info, TRUE);
  }
};

// Columns from `left` and rows from `top` on, in pixels of the scaled image.
struct Begin {
  jpeg_decompress_struct& info;
  J_COLOR_SPACE colours;
  unsigned reduction;
  JDIMENSION left, top, width;

  void operator()() {
    info.out_color_space = colours;
    info.scale_num = 1;
    info.scale_denom = reduction;
    jpeg_start_decompress(&info);
    if (width < info.output_width) jpeg_crop_scanline(&info, &left, &width);
    if (top > 0) jpeg_skip_scanlines(&info, top);
  }
};

struct ReadRows {
  jpeg_decompress_struct& info;
  std::uint8_t* out;
  JDIMENSION rows;

  void operator()() const {
    const std::size_t row_bytes =
        std::size_t{info.output_width} * static_cast<std::size_t>(info.output_components);
    for (JDIMENSION done = 0; done < rows;) {
      JSAMPROW pointers[kRowsAtOnce];
      const JDIMENSION count = std::min(kRowsAtOnce, rows - done);
      for (JDIMENSION i = 0; i < count; ++i) pointers[i] = out + (done + i) * row_bytes;
      done += jpeg_read_scanlines(&info, pointers, count);
    }
    // Reads on to the end of the image: what has none is cut short.
    if (info.output_scanline == info.output_height) jpeg_finish_decompress(&info);
  }
};

// Of the reductions that libjpeg-turbo has vectorised transforms for, the largest one allowed: 5/8 to 7/8 are
// slower than the whole size.
unsigned reduction_for(const DecodeRequest& request) {
  for (const unsigned reduction : {8u, 4u, 2u})
    if (request.box.width >= static_cast<double>(request.least_width * reduction) &&
        request.box.height >= static_cast<double>(request.least_height * reduction))
      return reduction;
  return 1;
}

// Whole pixels around [begin, begin + length), of `size` that there are.
struct Span {
  JDIMENSION first, count;
};

Span pixels_around(double begin, double length, std::int64_t size) {
  const auto limit = static_cast<double>(size);
  const double first = std::clamp(std::floor(begin), 0.0, limit - 1);
  const double end = std::clamp(std::ceil(begin + length), first + 1, limit);
  return {static_cast<JDIMENSION>(first), static_cast<JDIMENSION>(end - first)};
}

// Adobe's programs, which say so in the file, store inks inverted.
void inks_to_rgb(const Image& inks, bool inverted, Image& out) {
  out.reshape(inks.width(), inks.height(), 3);
  const int flip = inverted ? 0 : 255;
  for (std::int64_t i = 0; i < inks.width() * inks.height(); ++i) {
    const std::uint8_t* from = inks.data() + 4 * i;
    const int light = from[3] ^ flip;
    for (int c = 0; c < 3; ++c)
      out.data()[3 * i + c] = static_cast<std::uint8_t>(((from[c] ^ flip) * light + 127) / 255);
  }
}

class JpegImage : public EncodedImage {
 public:
  explicit JpegImage(std::span<const std::byte> encoded) : bytes_(encoded.size()) {
    run(ReadHeader{jpeg_.info, encoded});
    set_size(jpeg_.info.image_width, jpeg_.info.image_height);
  }

  Box decode(const DecodeRequest& request, Image& out) override {
    const unsigned reduction = reduction_for(request);
    const double scale = 1.0 / reduction;
    const Box box{request.box.left * scale, request.box.top * scale, request.box.width * scale,
                  request.box.height * scale};
    const Span columns = pixels_around(box.left, box.width, (width() + reduction - 1) / reduction);
    const Span rows = pixels_around(box.top, box.height, (height() + reduction - 1) / reduction);
    const J_COLOR_SPACE stored = jpeg_.info.jpeg_color_space;
    const bool inks = stored == JCS_CMYK || stored == JCS_YCCK;
    const J_COLOR_SPACE colours = inks ? JCS_CMYK : request.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    Begin begin{jpeg_.info, colours, reduction, columns.first, rows.first, columns.count};
    run(begin);
    out.reshape(jpeg_.info.output_width, rows.count, jpeg_.info.output_components);
    run(ReadRows{jpeg_.info, out.data(), rows.count});
    if (inks) convert(request.channels, out);
    return {box.left - begin.left, box.top - begin.top, box.width, box.height};
  }

 private:
  template <typename Work>
  void run(Work&& work) {
    if (!guarded(jpeg_.trap, work))
      fail(ErrorKind::config, "a JPEG of {} bytes cannot be decoded: {}", bytes_, jpeg_.trap.message);
  }

  void convert(std::int64_t channels, Image& image) const {
    Image rgb;
    inks_to_rgb(image, jpeg_.info.saw_Adobe_marker != 0, rgb);
    if (channels == 1)
      gray_of(rgb, image);
    else
      image = std::move(rgb);
  }

  std::size_t bytes_;
  Decompressor jpeg_;
};

}  // namespace

std::unique_ptr<EncodedImage> open_jpeg(std::span<const std::byte> encoded) {
  return std::make_unique<JpegImage>(encoded);
}

bool jpeg_is_built() { return true; }

}  // namespace trainyard::image
