#include "data/cifar_png.h"

#include <png.h>

#include <cstring>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "data/cifar_binary.h"
#include "data/labels.h"

namespace trainyard::data {
namespace {

// libpng's one-struct interface: errors come back as a message, no longjmp over our destructors.
struct PngImage {
  PngImage() {
    std::memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
  }
  ~PngImage() { png_image_free(&image); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  png_image image;
};

std::vector<std::uint8_t> decode_rgb(const std::filesystem::path& path, std::int64_t width,
                                     std::int64_t height) {
  const std::vector<std::byte> content = read_file(path);
  PngImage png;
  if (png_image_begin_read_from_memory(&png.image, content.data(), content.size()) == 0)
    fail(ErrorKind::config, "'{}': {}, a PNG expected", path.string(), png.image.message);
  if (png.image.width != width || png.image.height != height || png.image.format != PNG_FORMAT_RGB)
    fail(ErrorKind::config,
         "'{}': a PNG of {}x{} pixels{} found, {}x{} of 8-bit RGB (one image a row) expected", path.string(),
         png.image.width, png.image.height,
         png.image.format == PNG_FORMAT_RGB ? "" : " in another format than RGB", width, height);
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(png.image));
  // libpng fills in what it can of a file that is cut short, and only warns.
  if (png_image_finish_read(&png.image, nullptr, pixels.data(), 0, nullptr) == 0 ||
      png.image.warning_or_error != 0)
    fail(ErrorKind::config, "'{}': the PNG is damaged or cut short ({})", path.string(), png.image.message);
  return pixels;
}

}  // namespace

void read_cifar_png(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                    std::int64_t first) {
  TRAINYARD_CHECK(first >= 0 && first + records <= images.shape()[0]);
  const std::vector<std::uint8_t> pixels = decode_rgb(path, kCifarPixels, records);
  std::uint8_t* destination = images.as<std::uint8_t>().data() + first * kCifarImageBytes;
  for (std::int64_t record = 0; record < records; ++record) {
    const std::uint8_t* rgb = pixels.data() + record * kCifarImageBytes;
    std::uint8_t* planes = destination + record * kCifarImageBytes;
    for (std::int64_t i = 0; i < kCifarPixels; ++i)
      for (std::int64_t channel = 0; channel < kCifarChannels; ++channel)
        planes[channel * kCifarPixels + i] = rgb[i * kCifarChannels + channel];
  }
}

void read_cifar_json_labels(const std::filesystem::path& path, const HostTensor& labels) {
  const std::vector<std::byte> content = read_file(path);
  const auto* text = reinterpret_cast<const char*>(content.data());
  const nlohmann::json json = nlohmann::json::parse(text, text + content.size(), nullptr, false);
  if (!json.is_array()) fail(ErrorKind::config, "'{}': not a JSON array of labels", path.string());
  if (static_cast<std::int64_t>(json.size()) != labels.elements())
    fail(ErrorKind::config, "'{}': {} labels found, {} expected", path.string(), json.size(),
         labels.elements());
  const auto values = labels.as<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!json[i].is_number_integer())
      fail(ErrorKind::config, "'{}': label {} of image {} is not a whole number", path.string(),
           json[i].dump(), i);
    values[i] = json[i].get<std::int32_t>();
  }
  check_labels(values, kCifarClasses, path);
}

}  // namespace trainyard::data
