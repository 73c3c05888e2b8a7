#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::records {

// What the examples of TensorFlow's slim data sets say of an image. Views, not copies.
struct ImageExample {
  std::int32_t label = 0;              // image/class/label, as it is: some sets begin with 1
  std::int64_t height = 0, width = 0;  // image/height, image/width; 0: not said
  std::string_view format;             // image/format: "jpeg", "png"; may be empty
  std::string_view encoded;            // image/encoded
};

std::string write_image_example(const ImageExample& image);

// Nothing when the bytes are no example of an image; `why` is then the end of a sentence.
std::optional<ImageExample> parse_image_example(std::string_view message, std::string& why);

}  // namespace trainyard::records
