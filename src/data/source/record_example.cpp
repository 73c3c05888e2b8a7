#include "data/source/record_example.h"

#include <bit>

#include "base/crc32c.h"
#include "base/protobuf_wire.h"

namespace trainyard::data {

namespace {

// A CRC of data that holds its own CRC would be weak, hence the mask.
std::uint32_t masked_sum(std::string_view bytes) {
  return std::rotr(crc32c(bytes.data(), bytes.size()), 15) + 0xA282EAD8u;
}

bool length_sound(std::string_view rest) {
  return rest.size() >= kFrameHeadBytes &&
         get_raw<std::uint32_t>(rest.substr(8)) == masked_sum(rest.substr(0, 8));
}

}  // namespace

bool Frame::sound() const { return masked_sum(payload) == sum; }

void append_frame(std::string& out, std::string_view payload) {
  const std::size_t head = out.size();
  put_raw(out, static_cast<std::uint64_t>(payload.size()));
  put_raw(out, masked_sum(std::string_view(out).substr(head)));
  out.append(payload);
  put_raw(out, masked_sum(payload));
}

std::optional<Frame> first_frame(std::string_view rest) {
  if (!length_sound(rest) || rest.size() < kFrameHeadBytes + kFrameTailBytes) return std::nullopt;
  const auto length = get_raw<std::uint64_t>(rest);
  if (length > rest.size() - kFrameHeadBytes - kFrameTailBytes) return std::nullopt;
  return Frame{rest.substr(kFrameHeadBytes, length),
               get_raw<std::uint32_t>(rest.substr(kFrameHeadBytes + length))};
}

const char* why_no_frame(std::string_view rest) {
  return rest.size() < kFrameHeadBytes || length_sound(rest) ? "the file ends within the record"
                                                             : "its length does not agree with its checksum";
}

namespace {

// Field numbers of tensorflow/core/example/{example,feature}.proto.
enum ExampleField : unsigned { kFeatures = 1 };
enum FeaturesField : unsigned { kEntry = 1 };
enum EntryField : unsigned { kEntryKey = 1, kEntryValue = 2 };
enum FeatureField : unsigned { kBytesList = 1, kFloatList = 2, kInt64List = 3 };
enum ListField : unsigned { kListValue = 1 };

std::string write_feature(const Feature& feature) {
  std::string list, packed, out;
  for (const std::string_view value : feature.bytes) put_bytes(list, kListValue, value);
  if (!feature.bytes.empty()) put_bytes(out, kBytesList, list);
  list.clear();
  for (const float value : feature.floats) put_raw(packed, value);
  put_bytes(list, kListValue, packed);
  if (!feature.floats.empty()) put_bytes(out, kFloatList, list);
  list.clear();
  packed.clear();
  for (const std::int64_t value : feature.ints) put_varint(packed, static_cast<std::uint64_t>(value));
  put_bytes(list, kListValue, packed);
  if (!feature.ints.empty()) put_bytes(out, kInt64List, list);
  return out;
}

bool parse_bytes(std::string_view message, std::vector<std::string_view>& values) {
  WireReader list(message);
  while (const std::optional<WireField> field = list.next()) {
    if (field->number != kListValue) continue;
    if (field->wire != Wire::bytes) return false;
    values.push_back(field->bytes);
  }
  return list.at_end();
}

// Numbers stand packed in one field, or each in a field of its own.
bool parse_ints(std::string_view message, std::vector<std::int64_t>& values) {
  WireReader list(message);
  while (const std::optional<WireField> field = list.next()) {
    if (field->number != kListValue) continue;
    if (field->wire == Wire::varint) {
      values.push_back(static_cast<std::int64_t>(field->value));
      continue;
    }
    if (field->wire != Wire::bytes) return false;
    WireReader packed(field->bytes);
    while (const std::optional<std::uint64_t> value = packed.next_varint())
      values.push_back(static_cast<std::int64_t>(*value));
    if (!packed.at_end()) return false;
  }
  return list.at_end();
}

bool parse_floats(std::string_view message, std::vector<float>& values) {
  WireReader list(message);
  while (const std::optional<WireField> field = list.next()) {
    if (field->number != kListValue) continue;
    if ((field->wire != Wire::bytes && field->wire != Wire::fixed32) || field->bytes.size() % 4 != 0)
      return false;
    for (std::size_t i = 0; i < field->bytes.size(); i += 4)
      values.push_back(get_raw<float>(field->bytes.substr(i)));
  }
  return list.at_end();
}

bool parse_feature(std::string_view message, Feature& feature) {
  WireReader reader(message);
  while (const std::optional<WireField> field = reader.next()) {
    if (field->number < kBytesList || field->number > kInt64List) continue;
    if (field->wire != Wire::bytes) return false;
    const bool parsed = field->number == kBytesList   ? parse_bytes(field->bytes, feature.bytes)
                        : field->number == kFloatList ? parse_floats(field->bytes, feature.floats)
                                                      : parse_ints(field->bytes, feature.ints);
    if (!parsed) return false;
  }
  return reader.at_end();
}

bool parse_entry(std::string_view message, Example& example) {
  WireReader reader(message);
  std::string_view key;
  Feature feature;
  while (const std::optional<WireField> field = reader.next()) {
    if (field->number > kEntryValue) continue;
    if (field->wire != Wire::bytes) return false;
    if (field->number == kEntryKey) key = field->bytes;
    if (field->number == kEntryValue && !parse_feature(field->bytes, feature)) return false;
  }
  example[key] = std::move(feature);
  return reader.at_end();
}

bool parse_features(std::string_view message, Example& example) {
  WireReader reader(message);
  while (const std::optional<WireField> field = reader.next()) {
    if (field->number != kEntry) continue;
    if (field->wire != Wire::bytes || !parse_entry(field->bytes, example)) return false;
  }
  return reader.at_end();
}

}  // namespace

std::string write_example(const Example& example) {
  std::string features;
  for (const auto& [key, feature] : example) {
    std::string entry;
    put_bytes(entry, kEntryKey, key);
    put_bytes(entry, kEntryValue, write_feature(feature));
    put_bytes(features, kEntry, entry);
  }
  std::string out;
  put_bytes(out, kFeatures, features);
  return out;
}

std::optional<Example> parse_example(std::string_view message) {
  Example example;
  WireReader reader(message);
  while (const std::optional<WireField> field = reader.next()) {
    if (field->number != kFeatures) continue;
    if (field->wire != Wire::bytes || !parse_features(field->bytes, example)) return std::nullopt;
  }
  if (!reader.at_end()) return std::nullopt;
  return example;
}

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

}  // namespace trainyard::data
