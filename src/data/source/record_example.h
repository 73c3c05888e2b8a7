#pragma once

#include "base/standard.h"

namespace trainyard::data {

// TFRecord puts this frame around a payload, little-endian: u64 length, u32 masked CRC-32C of these eight
// bytes, payload, u32 masked CRC-32C of the payload.
inline constexpr std::size_t kFrameHeadBytes = 12, kFrameTailBytes = 4;

struct Frame {
  std::string_view payload;
  std::uint32_t sum = 0;  // as the file has it

  bool sound() const;  // reads all of the payload
  std::size_t bytes() const { return kFrameHeadBytes + payload.size() + kFrameTailBytes; }
};

void append_frame(std::string& out, std::string_view payload);

// Returns the frame at the beginning of `rest` without a check of its payload. Returns nothing when the
// length is damaged or `rest` ends before the frame does; why_no_frame() says which.
std::optional<Frame> first_frame(std::string_view rest);
const char* why_no_frame(std::string_view rest);

// tf.train.Example: lists by name, each of one kind. Views point into the message it was parsed from.
struct Feature {
  std::vector<std::string_view> bytes;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
};
using Example = std::map<std::string_view, Feature>;

// Writes features in the order of their names, so that the same example always has the same bytes.
std::string write_example(const Example& example);

// Returns nothing when the bytes are no such message. Unknown fields are passed over, as protobuf requires.
std::optional<Example> parse_example(std::string_view message);

// Holds the fields of an image in the examples of TensorFlow's slim data sets. Views, not copies.
struct ImageExample {
  std::int32_t label = 0;              // image/class/label, as it is: some sets begin with 1
  std::int64_t height = 0, width = 0;  // image/height, image/width; 0: not said
  std::string_view format;             // image/format: "jpeg", "png"; may be empty
  std::string_view encoded;            // image/encoded
};

std::string write_image_example(const ImageExample& image);

// Returns nothing when the bytes are no example of an image; `why` is then the end of a sentence.
std::optional<ImageExample> parse_image_example(std::string_view message, std::string& why);

}  // namespace trainyard::data
