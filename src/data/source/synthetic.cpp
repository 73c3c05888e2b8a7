#include "data/source/synthetic.h"

#include "base/philox.h"
#include "data/source/dataset.h"

namespace trainyard::data {

namespace {

constexpr int kWaves = 4;                // cosines along each axis; more would make the templates rough
constexpr int kBasis = kWaves * kWaves;  // coefficients of one channel
constexpr int kLights = 4;               // disturbances that all classes share
constexpr float kTemplateContrast = 26;  // grey levels, root mean square
constexpr float kLightContrast = 34;     // stronger than the classes: a mean of raw pixels misleads
constexpr float kMaxOtherClass = 0.7f;   // share of a second class; below one, so the label stays right
constexpr float kNoiseContrast = 24;

using Coefficients = std::vector<float>;  // channel-major, kBasis each: a smooth image

float to_gaussian(std::uint32_t a, std::uint32_t b) {  // Box-Muller
  const float radius = std::sqrt(-2 * std::log(1 - to_unit_float(a)));
  return radius * std::cos(6.2831853f * to_unit_float(b));
}

// Scaled so that the smooth image has about unit root mean square: a cosine's is 1/sqrt(2) per axis.
Coefficients random_smooth(const Philox& random, int channels) {
  Coefficients c(static_cast<std::size_t>(channels) * kBasis);
  double energy = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    c[i] = to_gaussian(random.word(2 * i), random.word(2 * i + 1));
    const std::size_t wave_y = i % kBasis / kWaves, wave_x = i % kWaves;
    energy += c[i] * c[i] * (wave_y == 0 ? 1.0 : 0.5) * (wave_x == 0 ? 1.0 : 0.5);
  }
  const auto scale = static_cast<float>(1 / std::sqrt(std::max(energy / channels, 1e-12)));
  for (float& value : c) value *= scale;
  return c;
}

// cosines[wave * length + position]
std::vector<float> make_cosines(std::int64_t length) {
  std::vector<float> cosines;
  for (int wave = 0; wave < kWaves; ++wave)
    for (std::int64_t i = 0; i < length; ++i)
      cosines.push_back(static_cast<float>(
          std::cos(3.14159265358979 * wave * (static_cast<double>(i) + 0.5) / static_cast<double>(length))));
  return cosines;
}

class Painter {
 public:
  explicit Painter(const SyntheticOptions& options)
      : options_(options),
        cosines_y_(make_cosines(options.image_shape[1])),
        cosines_x_(make_cosines(options.image_shape[2])),
        row_(static_cast<std::size_t>(options.image_shape[2])) {
    const int channels = static_cast<int>(options.image_shape[0]);
    const std::uint64_t template_stream = stream_of("synthetic template"),
                        light_stream = stream_of("synthetic light");
    for (int i = 0; i < options.classes; ++i)
      templates_.push_back(random_smooth(Philox(options.seed, mix_streams(template_stream, i)), channels));
    for (int i = 0; i < kLights; ++i)
      lights_.push_back(random_smooth(Philox(options.seed, mix_streams(light_stream, i)), channels));
    mixed_.resize(static_cast<std::size_t>(channels) * kBasis);
  }

  // Draws label and pixels of one sample.
  std::int32_t paint(const Philox& random, std::uint8_t* image) {
    const Philox::Block pick = random.block(0);
    const auto classes = static_cast<std::uint32_t>(options_.classes);
    const std::uint32_t label = scaled(pick[0], classes);
    const std::uint32_t other = classes == 1 ? 0 : (label + 1 + scaled(pick[1], classes - 1)) % classes;
    mix(templates_[label], kTemplateContrast, true);
    mix(templates_[other], kTemplateContrast * kMaxOtherClass * to_unit_float(pick[2]), false);
    for (std::size_t i = 0; i < kLights; ++i) {
      const Philox::Block words = random.block(1 + i / 2);
      mix(lights_[i], kLightContrast * to_gaussian(words[i % 2 * 2], words[i % 2 * 2 + 1]), false);
    }
    render(random, 1 + kLights / 2, image);
    return static_cast<std::int32_t>(label);
  }

 private:
  static std::uint32_t scaled(std::uint32_t word, std::uint32_t range) {
    return static_cast<std::uint32_t>((std::uint64_t{word} * range) >> 32);
  }

  void mix(const Coefficients& part, float weight, bool first) {
    for (std::size_t i = 0; i < mixed_.size(); ++i) mixed_[i] = weight * part[i] + (first ? 0 : mixed_[i]);
  }

  // Noise takes two bytes a pixel: their sum is triangular, of standard deviation 256 / sqrt(6).
  void render(const Philox& random, std::uint64_t block, std::uint8_t* image) {
    constexpr float kNoiseScale = kNoiseContrast / 104.5f;
    const std::int64_t height = options_.image_shape[1], width = options_.image_shape[2];
    Philox::Block words{};
    int halves = 0;  // unused 16-bit halves of `words`
    for (std::int64_t channel = 0; channel < options_.image_shape[0]; ++channel) {
      for (std::int64_t y = 0; y < height; ++y) {
        smooth_row(channel, y);
        for (std::int64_t x = 0; x < width; ++x) {
          if (halves == 0) {
            words = random.block(block++);
            halves = 8;
          }
          --halves;
          const std::uint32_t bits = words[static_cast<std::size_t>(halves / 2)] >> (halves % 2 * 16);
          const int noise = static_cast<int>(bits & 255) + static_cast<int>(bits >> 8 & 255) - 255;
          const float value = row_[static_cast<std::size_t>(x)] + kNoiseScale * static_cast<float>(noise);
          *image++ = static_cast<std::uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f));
        }
      }
    }
  }

  void smooth_row(std::int64_t channel, std::int64_t y) {
    const std::int64_t height = options_.image_shape[1], width = options_.image_shape[2];
    const float* c = mixed_.data() + channel * kBasis;
    std::array<float, kWaves> along{};
    for (int wave_y = 0; wave_y < kWaves; ++wave_y)
      for (std::size_t wave_x = 0; wave_x < kWaves; ++wave_x)
        along[wave_x] += c[static_cast<std::size_t>(wave_y) * kWaves + wave_x] *
                         cosines_y_[static_cast<std::size_t>(wave_y * height + y)];
    const float* cosines = cosines_x_.data();
    for (std::int64_t x = 0; x < width; ++x)
      row_[static_cast<std::size_t>(x)] = 128 + along[0] * cosines[x] + along[1] * cosines[width + x] +
                                          along[2] * cosines[2 * width + x] +
                                          along[3] * cosines[3 * width + x];
  }

  const SyntheticOptions options_;
  std::vector<Coefficients> templates_, lights_;
  std::vector<float> cosines_y_, cosines_x_, row_;
  Coefficients mixed_;
};

void paint_split(Painter& painter, const SyntheticOptions& options, const char* split, std::int64_t count,
                 HostTensor& images, HostTensor& labels) {
  const Shape& s = options.image_shape;
  images = HostTensor({count, s[0], s[1], s[2]}, DType::u8);
  labels = HostTensor({count}, DType::i32);
  const std::uint64_t stream = stream_of(split);
  for (std::int64_t i = 0; i < count; ++i) {
    const Philox random(options.seed, mix_streams(stream, static_cast<std::uint64_t>(i)));
    labels.as<std::int32_t>()[static_cast<std::size_t>(i)] =
        painter.paint(random, images.as<std::uint8_t>().data() + i * s.elements());
  }
}

}  // namespace

Dataset make_synthetic(const SyntheticOptions& options) {
  const Shape& s = options.image_shape;
  if (s.rank() != 3 ||
      std::any_of(s.begin(), s.end(), [](std::int64_t dim) { return dim < 1 || dim > 16384; }))
    fail(ErrorKind::config,
         "dataset 'synthetic': image shape {} given, three sizes (C, H, W) of 1 to 16384 expected",
         s.to_string());
  if (options.classes < 1 || options.train_images < 1 || options.test_images < 1)
    fail(ErrorKind::config,
         "dataset 'synthetic': {} classes, {} training and {} test images given, at least 1 each expected",
         options.classes, options.train_images, options.test_images);
  if (options.boxes > 0) return make_synthetic_boxes(options);
  Dataset dataset;
  dataset.name = "synthetic";
  dataset.image_shape = s;
  dataset.classes = options.classes;
  Painter painter(options);
  paint_split(painter, options, "synthetic train", options.train_images, dataset.train.images,
              dataset.train.labels);
  paint_split(painter, options, "synthetic test", options.test_images, dataset.test.images,
              dataset.test.labels);
  return dataset;
}

}  // namespace trainyard::data
