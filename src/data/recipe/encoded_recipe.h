#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "data/recipe/augment.h"
#include "data/recipe/preprocess.h"

namespace trainyard::data {

// One recipe bound to the size of a network's input, for JPEGs and PNGs of any size. A recipe for decoded
// images gets them resized to the size that it wants; where they have that size already, the floats are those
// of the decoded image, bit for bit. Thread-safe.
class EncodedRecipe {
 public:
  // Error (config) for an unknown name, or an output that no encoded image can become.
  explicit EncodedRecipe(const Preprocess& preprocess);

  const Shape& output() const { return output_; }  // C, h, w

  // One image to floats. All randomness depends on the run's seed and the position of the sample in its
  // order. Error (config) when the image is damaged.
  void train(std::span<const std::byte> encoded, std::uint64_t seed, std::int64_t position, float* out) const;
  void evaluate(std::span<const std::byte> encoded, float* out) const;

 private:
  const std::uint8_t* planes_of(std::span<const std::byte> encoded) const;

  Shape output_;
  std::unique_ptr<const Preprocessor> preprocessor_;  // null: the recipe is for decoded images
  std::optional<Augment> augment_;
};

}  // namespace trainyard::data
