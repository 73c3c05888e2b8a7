#include "records/image_example.h"

#include <limits>

#include <fmt/core.h>

#include "records/example.h"

namespace trainyard::records {
namespace {

constexpr std::string_view kEncoded = "image/encoded", kFormat = "image/format", kLabel = "image/class/label",
                           kHeight = "image/height", kWidth = "image/width";

const Feature* find(const Example& example, std::string_view key) {
  const auto found = example.find(key);
  return found == example.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> number(const Example& example, std::string_view key) {
  const Feature* feature = find(example, key);
  if (feature == nullptr || feature->ints.size() != 1) return std::nullopt;
  return feature->ints.front();
}

std::optional<std::string_view> bytes(const Example& example, std::string_view key) {
  const Feature* feature = find(example, key);
  if (feature == nullptr || feature->bytes.size() != 1) return std::nullopt;
  return feature->bytes.front();
}

}  // namespace

std::string write_image_example(const ImageExample& image) {
  Example example;
  example[kEncoded].bytes = {image.encoded};
  example[kFormat].bytes = {image.format};
  example[kLabel].ints = {image.label};
  example[kHeight].ints = {image.height};
  example[kWidth].ints = {image.width};
  return write_example(example);
}

std::optional<ImageExample> parse_image_example(std::string_view message, std::string& why) {
  const std::optional<Example> example = parse_example(message);
  if (!example) {
    why = "it is no tf.train.Example";
    return std::nullopt;
  }
  const std::optional<std::string_view> encoded = bytes(*example, kEncoded);
  const std::optional<std::int64_t> label = number(*example, kLabel);
  if (!encoded || !label) {
    why = fmt::format("it has no single '{}'", encoded ? kLabel : kEncoded);
    return std::nullopt;
  }
  if (*label < std::numeric_limits<std::int32_t>::min() ||
      *label > std::numeric_limits<std::int32_t>::max()) {
    why = fmt::format("its label {} has more than 32 bits", *label);
    return std::nullopt;
  }
  return ImageExample{static_cast<std::int32_t>(*label), number(*example, kHeight).value_or(0),
                      number(*example, kWidth).value_or(0), bytes(*example, kFormat).value_or(""), *encoded};
}

}  // namespace trainyard::records
