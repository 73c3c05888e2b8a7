#pragma once

#include "base/standard.h"

namespace trainyard::ensemble {

// Votes holds the predictions of one member for the test images.
struct Votes {
  std::int32_t classes = 0;
  std::vector<std::int32_t> labels;  // one an image; below 0: it counts for nothing
  std::vector<float> probabilities;  // classes of each image

  void add(std::span<const float> logits, std::int32_t label);
  double accuracy() const;

  std::span<const float> of(std::size_t image) const {
    const auto width = static_cast<std::size_t>(classes);
    return std::span(probabilities).subspan(image * width, width);
  }
};

// docs/formats/ensemble.md. Written whole or not at all; Error (config) when it is no such file.
void write_votes(const Votes& votes, const std::filesystem::path& file);
Votes read_votes(const std::filesystem::path& file);

// VoteResult is the accuracy of what members say together. REQUIRES: of the same images.
struct VoteResult {
  double mean_probability = 0;  // the class with the largest sum of probabilities
  double majority = 0;          // the class that most name; among equals, that with the larger sum
};
VoteResult count_votes(std::span<const Votes> members);

}  // namespace trainyard::ensemble
