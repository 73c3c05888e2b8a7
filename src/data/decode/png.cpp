#include "data/decode/decode.h"

#include <csetjmp>
#include <cstdio>

#include <png.h>

#include "base/error.h"
#include "data/decode/image.h"

namespace trainyard::data {

namespace {

// Like libjpeg, libpng leaves on an error by longjmp: functions that `guarded_png` calls own nothing.
struct PngReader {
  explicit PngReader(std::span<const std::byte> bytes) : left(bytes) {}
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> left;
  std::jmp_buf jump;
  char message[128] = "no memory";
};

void give_up(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof reader->message, "%s", message);
  std::longjmp(reader->jump, 1);
}

void ignore(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep out, std::size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->left.size()) png_error(png, "it is cut short");
  std::memcpy(out, reader->left.data(), count);
  reader->left = reader->left.subspan(count);
}

template <typename Work>
[[gnu::noinline]] bool guarded_png(PngReader& reader, Work& work) {
  if (setjmp(reader.jump) != 0) return false;
  work();
  return true;
}

struct ReadPngHeader {
  PngReader& reader;

  void operator()() const {
    reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, give_up, ignore);
    if (reader.png == nullptr) std::longjmp(reader.jump, 1);
    reader.info = png_create_info_struct(reader.png);
    if (reader.info == nullptr) std::longjmp(reader.jump, 1);
    png_set_read_fn(reader.png, &reader, read_bytes);
    png_set_chunk_malloc_max(reader.png, 8u << 20);
    png_read_info(reader.png, reader.info);
  }
};

struct ChooseForm {
  PngReader& reader;
  bool colour;

  void operator()() const {
    png_set_scale_16(reader.png);
    png_set_expand(reader.png);
    png_set_strip_alpha(reader.png);
    if (colour) png_set_gray_to_rgb(reader.png);
    png_set_interlace_handling(reader.png);
    png_read_update_info(reader.png, reader.info);
  }
};

struct ReadImage {
  PngReader& reader;
  png_bytepp rows;

  void operator()() const {
    png_read_image(reader.png, rows);
    png_read_end(reader.png, nullptr);
  }
};

class PngEncoded : public EncodedImage {
 public:
  explicit PngEncoded(std::span<const std::byte> encoded) : bytes_(encoded.size()), reader_(encoded) {
    run(ReadPngHeader{reader_});
    set_size(png_get_image_width(reader_.png, reader_.info), png_get_image_height(reader_.png, reader_.info));
    set_gray((png_get_color_type(reader_.png, reader_.info) & PNG_COLOR_MASK_COLOR) == 0);
  }

  Box decode(const DecodeRequest& request, Image& out) override {
    run(ChooseForm{reader_, request.channels == 3});
    out.reshape(width(), height(), png_get_channels(reader_.png, reader_.info));
    TRAINYARD_CHECK(png_get_rowbytes(reader_.png, reader_.info) == static_cast<std::size_t>(out.row_bytes()));
    std::vector<png_bytep> rows(static_cast<std::size_t>(height()));
    for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = out.row(static_cast<std::int64_t>(y));
    run(ReadImage{reader_, rows.data()});
    if (request.channels == 1 && out.channels() == 3) {
      Image gray;
      gray_of(out, gray);
      out = std::move(gray);
    }
    return request.box;
  }

 private:
  template <typename Work>
  void run(const Work& work) {
    if (!guarded_png(reader_, work))
      fail(ErrorKind::config, "a PNG of {} bytes cannot be decoded: {}", bytes_, reader_.message);
  }

  std::size_t bytes_;
  PngReader reader_;
};

}  // namespace

std::unique_ptr<EncodedImage> open_png(std::span<const std::byte> encoded) {
  return std::make_unique<PngEncoded>(encoded);
}

std::vector<std::byte> encode_png(const Image& image) {
  TRAINYARD_CHECK(image.channels() == 1 || image.channels() == 3);
  png_image png;
  std::memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width());
  png.height = static_cast<png_uint_32>(image.height());
  png.format = image.channels() == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::vector<std::byte> out(PNG_IMAGE_PNG_SIZE_MAX(png));
  png_alloc_size_t bytes = out.size();
  if (png_image_write_to_memory(&png, out.data(), &bytes, 0, image.data(), 0, nullptr) == 0)
    fail(ErrorKind::config, "an image of {}x{} pixels cannot be encoded as a PNG: {}", image.width(),
         image.height(), png.message);
  out.resize(bytes);
  return out;
}

}  // namespace trainyard::data
