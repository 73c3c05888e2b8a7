#include "data/decode/decode.h"

#include <jerror.h>

#include "base/error.h"
#include "data/decode/image.h"
#include "data/decode/jpeg_trap.h"

namespace trainyard::data {

namespace {

void give_up(j_common_ptr info) {
  auto* trap = reinterpret_cast<JpegTrap*>(info->err);
  info->err->format_message(info, trap->message);
  std::longjmp(trap->jump, 1);
}

// Cameras and editors write files with these warnings, and all of their pixels are present.
bool is_harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
         code == JWRN_BOGUS_ICC;
}

void judge(j_common_ptr info, int level) {
  if (level < 0 && !is_harmless(info->err->msg_code)) give_up(info);
}

}  // namespace

jpeg_error_mgr* arm(JpegTrap& trap) {
  jpeg_std_error(&trap.manager);
  trap.manager.error_exit = give_up;
  trap.manager.emit_message = judge;
  return &trap.manager;
}

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
    // Decoding continues to the end of the image, because an image without an end is truncated.
    if (info.output_scanline == info.output_height) jpeg_finish_decompress(&info);
  }
};

// Returns the largest allowed reduction of those that libjpeg-turbo has vectorised transforms for: 5/8 to 7/8
// are slower than the whole size.
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
    set_gray(jpeg_.info.jpeg_color_space == JCS_GRAYSCALE);
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

namespace {

struct Compressor {
  Compressor() {
    std::memset(&info, 0, sizeof info);
    info.err = arm(trap);
  }
  ~Compressor() { jpeg_destroy_compress(&info); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  JpegTrap trap;
  jpeg_compress_struct info;
};

struct Compress {
  jpeg_compress_struct& info;
  const Image& image;
  int quality;
  unsigned char* out;
  unsigned long bytes;  // in: what there is room for; out: what it took

  void operator()() {
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &out, &bytes);
    info.image_width = static_cast<JDIMENSION>(image.width());
    info.image_height = static_cast<JDIMENSION>(image.height());
    info.input_components = static_cast<int>(image.channels());
    info.in_color_space = image.channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      auto* row = const_cast<JSAMPROW>(image.row(info.next_scanline));
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  }
};

// No coefficient takes more than four bytes. With a large enough buffer libjpeg never allocates its own.
std::size_t most_bytes(const Image& image) {
  const std::int64_t width = (image.width() + 15) / 16 * 16, height = (image.height() + 15) / 16 * 16;
  return static_cast<std::size_t>(width * height * image.channels() * 4 + 4096);
}

}  // namespace

std::vector<std::byte> encode_jpeg(const Image& image, int quality) {
  TRAINYARD_CHECK((image.channels() == 1 || image.channels() == 3) && quality >= 1 && quality <= 100);
  std::vector<std::byte> out(most_bytes(image));
  auto* const room = reinterpret_cast<unsigned char*>(out.data());
  Compressor jpeg;
  Compress compress{jpeg.info, image, quality, room, out.size()};
  if (!guarded(jpeg.trap, compress))
    fail(ErrorKind::config, "an image of {}x{} pixels cannot be encoded as a JPEG: {}", image.width(),
         image.height(), jpeg.trap.message);
  TRAINYARD_CHECK(compress.out == room);
  out.resize(compress.bytes);
  return out;
}

}  // namespace trainyard::data
