#include "base/error.h"
#include "base/philox.h"
#include "data/source/dataset.h"

namespace trainyard::data {

namespace {

constexpr std::int64_t kMostInAnImage = 8;
constexpr std::int64_t kShortest = 8, kLongest = 2;  // sides of a box: an eighth of the image's to a half

// Returns 0 to below `count`, all equally likely except for 1 in 2^32.
std::int64_t scaled(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>((std::uint64_t{word} * static_cast<std::uint64_t>(count)) >> 32);
}

// Draws where a box begins and ends along one side of the image.
std::pair<std::int32_t, std::int32_t> side_of(std::uint32_t length, std::uint32_t place, std::int64_t image) {
  const std::int64_t least = std::max<std::int64_t>(image / kShortest, 1),
                     most = std::max(image / kLongest, least),
                     side = least + scaled(length, most - least + 1), begin = scaled(place, image - side + 1);
  return {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(begin + side)};
}

class SyntheticBoxes final : public SampleSource {
 public:
  SyntheticBoxes(const SyntheticOptions& options, const char* split, std::int64_t size)
      : options_(options), stream_(stream_of(split)), size_(size) {}

  std::int64_t size() const override { return size_; }
  Sample read(std::int64_t index, Scratch& scratch) const override {
    const Shape& image = options_.image_shape;
    const auto numbers = static_cast<std::size_t>(options_.boxes * kBoxNumbers);
    const std::size_t bytes = numbers * sizeof(std::int32_t) + static_cast<std::size_t>(image.elements());
    if (scratch.size() < bytes) scratch.resize(bytes);
    const std::span boxes(reinterpret_cast<std::int32_t*>(scratch.data()), numbers);
    std::uint8_t* pixels = scratch.data() + numbers * sizeof(std::int32_t);
    const Philox random(options_.seed, mix_streams(stream_, static_cast<std::uint64_t>(index)));
    const std::int64_t count = draw_boxes(random, boxes);
    draw_noise(random, pixels);
    for (std::int64_t i = 0; i < count; ++i)
      paint(boxes.subspan(static_cast<std::size_t>(i * kBoxNumbers), kBoxNumbers), pixels);
    return {std::as_bytes(std::span(scratch.data(), bytes)), static_cast<std::int32_t>(count)};
  }

 private:
  std::int64_t draw_boxes(const Philox& random, std::span<std::int32_t> boxes) const {
    std::fill(boxes.begin(), boxes.end(), -1);
    const std::int64_t count = 1 + scaled(random.word(0), std::min(kMostInAnImage, options_.boxes));
    for (std::int64_t i = 0; i < count; ++i) {
      const Philox::Block words = random.block(static_cast<std::uint64_t>(1 + 2 * i));
      const std::uint32_t kind = random.block(static_cast<std::uint64_t>(2 + 2 * i))[0];
      const auto [left, right] = side_of(words[0], words[1], options_.image_shape[2]);
      const auto [top, bottom] = side_of(words[2], words[3], options_.image_shape[1]);
      std::int32_t* box = boxes.data() + i * kBoxNumbers;
      box[0] = static_cast<std::int32_t>(scaled(kind, options_.classes));
      box[1] = left;
      box[2] = top;
      box[3] = right;
      box[4] = bottom;
    }
    return count;
  }

  // Between a quarter and three quarters of the brightness.
  void draw_noise(const Philox& random, std::uint8_t* pixels) const {
    constexpr std::uint64_t kFirst = 1 << 16;  // behind the words of the boxes
    const std::int64_t count = options_.image_shape.elements();
    for (std::int64_t i = 0; i < count; i += 16) {
      const Philox::Block words = random.block(kFirst + static_cast<std::uint64_t>(i / 16));
      for (std::int64_t j = i; j < std::min(i + 16, count); ++j)
        pixels[j] = static_cast<std::uint8_t>(
            64 + (words[static_cast<std::size_t>(j % 16 / 4)] >> (8 * (j % 4)) & 127));
    }
  }

  // The colour of a class, and in every other one stripes of 8 rows.
  void paint(std::span<const std::int32_t> box, std::uint8_t* pixels) const {
    const Shape& image = options_.image_shape;
    const Philox::Block colour =
        Philox(options_.seed, stream_of("synthetic colour")).block(static_cast<std::uint64_t>(box[0]));
    for (std::int64_t channel = 0; channel < image[0]; ++channel)
      for (std::int64_t y = box[2]; y < box[4]; ++y) {
        const std::uint32_t word = colour[static_cast<std::size_t>(channel % 4)] >> 24;
        const bool inverse = box[0] % 2 == 1 && y / 8 % 2 == 1;
        std::fill_n(pixels + (channel * image[1] + y) * image[2] + box[1], box[3] - box[1],
                    static_cast<std::uint8_t>(inverse ? 255 - word : word));
      }
  }

  const SyntheticOptions options_;
  const std::uint64_t stream_;
  const std::int64_t size_;
};

}  // namespace

Dataset make_synthetic_boxes(const SyntheticOptions& options) {
  Dataset dataset;
  dataset.name = "synthetic";
  dataset.kind = SampleKind::boxes;
  dataset.image_shape = options.image_shape;
  dataset.classes = options.classes;
  dataset.train.samples = std::make_shared<SyntheticBoxes>(options, "synthetic boxes", options.train_images);
  dataset.test.samples =
      std::make_shared<SyntheticBoxes>(options, "synthetic test boxes", options.test_images);
  return dataset;
}

}  // namespace trainyard::data
