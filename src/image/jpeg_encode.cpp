#include <cstring>

#include "base/error.h"
#include "image/jpeg.h"
#include "image/jpeg_trap.h"

namespace trainyard::image {
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

// No coefficient takes more than four bytes. Where the room suffices, libjpeg never allocates its own.
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

}  // namespace trainyard::image
