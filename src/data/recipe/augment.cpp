#include "data/recipe/augment.h"

#include "data/recipe/recipe.h"

namespace trainyard::data {

namespace {

// Eight bytes are one 128-bit vector of 16-bit numbers.
constexpr std::int64_t kPiece = 8;

template <bool kFlip>
void widen_piece(const std::uint8_t* from, std::int16_t* to) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, from, kPiece);
  if constexpr (kFlip) bytes = __builtin_bswap64(bytes);
  std::uint8_t ordered[kPiece];
  std::memcpy(ordered, &bytes, kPiece);
  for (std::int64_t i = 0; i < kPiece; ++i) to[i] = ordered[i];
}

template <bool kFlip>
void widen_row(const std::uint8_t* row, std::int64_t count, std::int16_t* out) {
  const auto piece = [&](std::int64_t i) {
    widen_piece<kFlip>(row + (kFlip ? count - kPiece - i : i), out + i);
  };
  if (count < kPiece) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = row[kFlip ? count - 1 - i : i];
    return;
  }
  for (std::int64_t i = 0; i + kPiece <= count; i += kPiece) piece(i);
  piece(count - kPiece);  // writes some of the last whole piece again rather than go pixel by pixel
}

}  // namespace

void copy_window(const std::uint8_t* plane, const Window& w, std::int16_t* out) {
  // The part of the window that lies on the plane, in window coordinates.
  const std::int64_t top = std::clamp<std::int64_t>(-w.top, 0, w.height);
  const std::int64_t bottom = std::clamp(w.plane_height - w.top, top, w.height);
  const std::int64_t left = std::clamp<std::int64_t>(-w.left, 0, w.width);
  const std::int64_t right = std::clamp(w.plane_width - w.left, left, w.width);
  const std::int64_t count = right - left;
  if (count * (bottom - top) < w.pixels()) std::fill_n(out, w.pixels(), std::int16_t{0});
  out += top * w.width + (w.flip ? w.width - right : left);
  const std::uint8_t* row = plane + (w.top + top) * w.plane_width + w.left + left;
  for (std::int64_t y = top; y < bottom; ++y, out += w.width, row += w.plane_width)
    w.flip ? widen_row<true>(row, count, out) : widen_row<false>(row, count, out);
}

std::int16_t* window_scratch(std::int64_t pixels) {
  thread_local std::vector<std::int16_t> scratch;
  if (scratch.size() < static_cast<std::size_t>(pixels)) scratch.resize(static_cast<std::size_t>(pixels));
  return scratch.data();
}

PixelSums sum_pixels(const std::int16_t* pixels, std::int64_t count) {
  constexpr std::int64_t kBlock = 16'384;  // as many squares of a byte as surely fit into 31 bits
  PixelSums total;
  while (count > 0) {
    const std::int64_t block = std::min(count, kBlock);
    std::int32_t sum = 0, squares = 0;
    for (std::int64_t i = 0; i < block; ++i) {
      sum += pixels[i];
      squares += pixels[i] * pixels[i];
    }
    total.sum += sum;
    total.squares += squares;
    pixels += block;
    count -= block;
  }
  return total;
}

void map_pixels(const std::int16_t* pixels, std::int64_t count, float centre, float scale, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = (static_cast<float>(pixels[i]) - centre) * scale;
}

void map_pixels(const std::uint8_t* pixels, std::int64_t count, float centre, float scale, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = (static_cast<float>(pixels[i]) - centre) * scale;
}

namespace {

bool is_image(const Shape& shape) {
  return shape.rank() == 3 &&
         std::all_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim > 0; });
}

PlaneSize plane_of(const Shape& image) { return {image[1], image[2]}; }

}  // namespace

Augment::Augment(const Preprocess& preprocess, const Shape& input)
    : recipe_(find_recipe(preprocess.name, SampleKind::pixels).of_pixels),
      input_(input),
      output_(preprocess.output) {
  TRAINYARD_CHECK(is_image(input));
  if (output_.rank() == 0) output_ = recipe_->default_output(input);
  std::string reason;
  if (!is_image(output_))
    reason = "three sizes (channels, height, width) are expected";
  else if (output_[0] != input[0])
    reason = fmt::format("it keeps the {} channels", input[0]);
  else
    reason = recipe_->decline({input_, output_});
  if (!reason.empty())
    fail(ErrorKind::config, "preprocessing '{}': {} cannot be made of images of {}: {}", preprocess.name,
         output_.to_string(), input.to_string(), reason);
}

const ImageRecipe& Augment::recipe() const { return recipe_->how; }

void Augment::train(const std::uint8_t* image, const Philox::Block& draws, float* out) const {
  apply_recipe(recipe(), {input_, output_},
               training_place(recipe(), plane_of(input_), plane_of(output_), draws),
               training_contrast(recipe(), draws), image, out);
}

void Augment::evaluate(const std::uint8_t* image, float* out) const {
  apply_recipe(recipe(), {input_, output_}, centre_place(plane_of(input_), plane_of(output_)), 1.0f, image,
               out);
}

}  // namespace trainyard::data
