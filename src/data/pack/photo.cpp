#include "data/pack/photo.h"

#include "base/error.h"
#include "base/philox.h"

namespace trainyard::data {

namespace {

std::uint32_t big_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

// A side of zero or beyond all images is a damaged header.
std::optional<ImageHeader> checked(const char* format, std::uint32_t height, std::uint32_t width) {
  constexpr std::uint32_t kMaxSide = 65'535;
  if (height == 0 || width == 0 || height > kMaxSide || width > kMaxSide) return std::nullopt;
  return ImageHeader{format, static_cast<int>(height), static_cast<int>(width)};
}

// Segments until the one that begins a frame (SOF0 to SOF15; three of these numbers mean something else).
std::optional<ImageHeader> read_jpeg_header(std::span<const std::byte> file) {
  constexpr std::uint32_t kFirstFrame = 0xC0, kLastFrame = 0xCF;
  for (std::size_t at = 2; at + 9 <= file.size();) {
    if (file[at] != std::byte{0xFF}) return std::nullopt;
    const std::uint32_t marker = std::to_integer<std::uint32_t>(file[at + 1]);
    if (marker == 0xFF) {  // padding
      ++at;
      continue;
    }
    if (marker >= kFirstFrame && marker <= kLastFrame && marker != 0xC4 && marker != 0xC8 && marker != 0xCC)
      return checked("jpeg", big_endian(file.subspan(at + 5, 2)), big_endian(file.subspan(at + 7, 2)));
    at += 2 + big_endian(file.subspan(at + 2, 2));
  }
  return std::nullopt;
}

}  // namespace

std::optional<ImageHeader> read_image_header(std::span<const std::byte> file) {
  constexpr std::byte kJpeg[] = {std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}};
  constexpr std::uint32_t kPng = 0x89504E47, kFirstChunk = 0x49484452;  // "\x89PNG", "IHDR"
  if (file.size() >= 3 && std::equal(std::begin(kJpeg), std::end(kJpeg), file.begin()))
    return read_jpeg_header(file);
  if (file.size() < 24 || big_endian(file.first(4)) != kPng || big_endian(file.subspan(12, 4)) != kFirstChunk)
    return std::nullopt;
  return checked("png", big_endian(file.subspan(20, 4)), big_endian(file.subspan(16, 4)));
}

namespace {

constexpr int kClutter = 4, kMinSide = 16, kMaxSide = 4096, kMaxClasses = 100'000;
constexpr float kTau = 6.2831853f;
constexpr float kNoise = 22;  // grey levels: a JPEG is then about as large as that of a photo

// Draws numbers one after the other.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}
  float between(float least, float most) {
    return least + (most - least) * to_unit_float(random_.word(next_++));
  }
  int whole(int least, int most) {
    const auto range = static_cast<std::uint64_t>(most - least) + 1;
    return least + static_cast<int>((random_.word(next_++) * range) >> 32);
  }
  std::array<float, 3> colour(float least, float most) {
    std::array<float, 3> colour{};
    for (float& channel : colour) channel = between(least, most);
    return colour;
  }

 private:
  Philox random_;
  std::uint64_t next_ = 0;
};

struct Ellipse {
  float x = 0, y = 0, per_width = 0, per_height = 0;  // reciprocal half axes
  std::array<float, 3> colour{};

  bool covers(float px, float py) const {
    const float u = (px - x) * per_width, v = (py - y) * per_height;
    return u * u + v * v < 1;
  }
};

}  // namespace

struct PhotoPainter::Scene {
  std::int32_t label = 0;
  int height = 0, width = 0;
  Look look;                              // of the class, as this photo shows it
  float x = 0, y = 0, per_radius = 0;     // of the disc
  Colour near{}, far{};                   // background
  float across = 0, down = 0, phase = 0;  // its waves
  float light = 0, light_x = 0, light_y = 0;
  std::array<Ellipse, kClutter> clutter;
};

PhotoPainter::PhotoPainter(const PhotoOptions& options, const std::string& split)
    : options_(options), stream_(mix_streams(stream_of("photo"), stream_of(split.c_str()))) {
  if (options.classes < 1 || options.classes > kMaxClasses)
    fail(ErrorKind::config, "{} classes of photos given, 1 to {} expected", options.classes, kMaxClasses);
  if (options.min_pixels < kMinSide || options.max_pixels > kMaxSide ||
      options.min_pixels > options.max_pixels)
    fail(ErrorKind::config, "photos of {}..{} pixels given, {}..{} or a part of it expected",
         options.min_pixels, options.max_pixels, kMinSide, kMaxSide);
  for (std::uint32_t i = 0; i < kSteps; ++i)
    waves_[i] = 0.5f + 0.5f * std::cos(kTau * static_cast<float>(i) / kSteps);
  for (int i = 0; i < options.classes; ++i) {
    Draws draws(options.seed, mix_streams(stream_of("photo class"), static_cast<std::uint64_t>(i)));
    const Colour dark = draws.colour(10, 150), light = draws.colour(110, 250);
    looks_.push_back(
        {dark, light, draws.between(0, kTau / 2), draws.between(1.5f, 5), static_cast<Pattern>(i % 3)});
  }
}

PhotoPainter::Scene PhotoPainter::arrange(std::int64_t index) const {
  Draws draws(options_.seed, mix_streams(stream_, static_cast<std::uint64_t>(index)));
  Scene scene;
  scene.label = draws.whole(0, options_.classes - 1);
  scene.height = draws.whole(options_.min_pixels, options_.max_pixels);
  scene.width = draws.whole(options_.min_pixels, options_.max_pixels);
  const auto height = static_cast<float>(scene.height), width = static_cast<float>(scene.width),
             side = std::min(height, width);
  scene.look = looks_[static_cast<std::size_t>(scene.label)];
  scene.look.angle += draws.between(-0.25f, 0.25f);
  scene.look.waves *= draws.between(0.85f, 1.2f);
  scene.x = width * draws.between(0.35f, 0.65f);
  scene.y = height * draws.between(0.35f, 0.65f);
  scene.per_radius = 1 / (side * draws.between(0.3f, 0.48f));
  scene.near = draws.colour(20, 235);
  scene.far = draws.colour(20, 235);
  scene.across = draws.between(0.3f, 4) / width;
  scene.down = draws.between(0.3f, 4) / height;
  scene.phase = draws.between(0, 1);
  scene.light = draws.between(0.7f, 1.15f);
  scene.light_x = draws.between(-0.4f, 0.4f) / width;
  scene.light_y = draws.between(-0.4f, 0.4f) / height;
  for (Ellipse& ellipse : scene.clutter) {
    ellipse.x = draws.between(0, width);
    ellipse.y = draws.between(0, height);
    ellipse.per_width = 1 / (side * draws.between(0.03f, 0.14f));
    ellipse.per_height = 1 / (side * draws.between(0.03f, 0.14f));
    ellipse.colour = draws.colour(0, 255);
  }
  return scene;
}

// The coordinates are rotated, and the disc has radius one in them.
float PhotoPainter::pattern_at(const Look& look, float u, float v) const {
  switch (look.pattern) {
    case Pattern::stripes:
      return wave(look.waves * u);
    case Pattern::checks:
      return wave(look.waves * u) * wave(look.waves * v);
    case Pattern::rings:
      return wave(look.waves * std::sqrt(u * u + v * v));
  }
  return 0;
}

Photo PhotoPainter::paint(std::int64_t index) const {
  constexpr float kNoiseStep = kNoise / 104.5f;  // the sum of two bytes has a deviation of 256 / sqrt(6)
  const Scene scene = arrange(index);
  const Look& look = scene.look;
  const float cosine = std::cos(look.angle) * scene.per_radius,
              sine = std::sin(look.angle) * scene.per_radius;
  const Philox noise(options_.seed,
                     mix_streams(stream_ ^ stream_of("noise"), static_cast<std::uint64_t>(index)));
  Photo photo{scene.label, scene.height, scene.width, {}};
  photo.pixels.resize(static_cast<std::size_t>(scene.height) * static_cast<std::size_t>(scene.width) * 3);
  std::uint8_t* out = photo.pixels.data();
  Philox::Block words{};
  for (std::uint64_t pixel = 0; pixel < photo.pixels.size() / 3; ++pixel, out += 3) {
    if (pixel % 8 == 0) words = noise.block(pixel / 8);
    const auto x = static_cast<float>(pixel % static_cast<std::uint64_t>(scene.width)),
               y = static_cast<float>(pixel / static_cast<std::uint64_t>(scene.width));
    const float u = (x - scene.x) * cosine + (y - scene.y) * sine,
                v = (y - scene.y) * cosine - (x - scene.x) * sine;
    const float behind = 0.5f * (wave(scene.across * x + scene.phase) + wave(scene.down * y + scene.phase));
    const float inside = std::clamp((1 - u * u - v * v) * 8, 0.0f, 1.0f);  // a soft edge
    const float pattern = inside > 0 ? pattern_at(look, u, v) : 0;
    const auto front = std::find_if(scene.clutter.begin(), scene.clutter.end(),
                                    [&](const Ellipse& ellipse) { return ellipse.covers(x, y); });
    const float light = scene.light * (1 + scene.light_x * (x - scene.x) + scene.light_y * (y - scene.y));
    const std::uint32_t bits = words[pixel % 8 / 2] >> (pixel % 2 * 16);
    const float grain = kNoiseStep * static_cast<float>(static_cast<int>(bits & 255) +
                                                        static_cast<int>(bits >> 8 & 255) - 255);
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const float ground = scene.near[channel] + (scene.far[channel] - scene.near[channel]) * behind;
      const float disc = look.dark[channel] + (look.light[channel] - look.dark[channel]) * pattern;
      const float colour =
          front != scene.clutter.end() ? front->colour[channel] : ground + (disc - ground) * inside;
      out[channel] = static_cast<std::uint8_t>(std::clamp(colour * light + grain + 0.5f, 0.0f, 255.0f));
    }
  }
  return photo;
}

}  // namespace trainyard::data
