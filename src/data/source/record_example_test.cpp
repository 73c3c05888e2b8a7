#include "data/source/record_example.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/protobuf_wire.h"
#include "data/source/test_set.h"

namespace trainyard::data {

namespace {

// Put together by hand from protobuf's rules; keys in order, numbers packed.
constexpr std::string_view kLists =
    "0a380a0c0a016112070a050a01780a00"
    "0a110a0166120c120a0a080000c03f000000c0"
    "0a150a016912101a0e0a0cffffffffffffffffff01ac02";
constexpr std::string_view kImage =
    "0a7e0a1b0a11696d6167652f636c6173732f6c6162656c12061a040a02ac02"
    "0a180a0d696d6167652f656e636f64656412070a050a03ffd8ff"
    "0a180a0c696d6167652f666f726d617412080a060a046a706567"
    "0a150a0c696d6167652f68656967687412051a030a0102"
    "0a140a0b696d6167652f776964746812051a030a0103";

TEST(Example, HasTheBytesOfProtobuf) {
  Example example;
  example["i"].ints = {-1, 300};
  example["a"].bytes = {"x", ""};
  example["f"].floats = {1.5f, -2.0f};
  EXPECT_EQ(write_example(example), from_hex(kLists));
}

TEST(Example, IsParsed) {
  const std::string bytes = from_hex(kLists);
  const std::optional<Example> example = parse_example(bytes);
  ASSERT_TRUE(example);
  ASSERT_EQ(example->size(), 3u);
  EXPECT_EQ(example->at("i").ints, (std::vector<std::int64_t>{-1, 300}));
  EXPECT_EQ(example->at("a").bytes, (std::vector<std::string_view>{"x", ""}));
  EXPECT_EQ(example->at("f").floats, (std::vector<float>{1.5f, -2.0f}));
}

TEST(Example, NumbersMayStandOneByOneAndUnknownFieldsAnywhere) {
  // {"i": [5, 6]}, each number a field of its own; field 9 of the example, 8 of the entry, 7 of the feature.
  const std::string bytes = from_hex(
      "4a0178"
      "0a11"
      "0a0f"
      "0a0169"
      "4001"
      "1208"
      "3a00"
      "1a04"
      "0805"
      "0806");
  const std::optional<Example> example = parse_example(bytes);
  ASSERT_TRUE(example);
  EXPECT_EQ(example->at("i").ints, (std::vector<std::int64_t>{5, 6}));
  const std::string unpacked = from_hex("0a100a0e0a0166120912070d0000c03f1000");
  const std::optional<Example> floats = parse_example(unpacked);
  ASSERT_TRUE(floats);
  EXPECT_EQ(floats->at("f").floats, std::vector<float>{1.5f});
}

TEST(Example, OtherBytesAreNone) {
  const std::string bytes = from_hex(kLists);
  for (std::size_t i = 1; i < bytes.size(); ++i) EXPECT_FALSE(parse_example(bytes.substr(0, i))) << i;
  EXPECT_FALSE(parse_example("\xff\xd8\xff\xe0 a JPEG, say"));
  EXPECT_FALSE(parse_example(from_hex("0b0c")));                        // a group
  EXPECT_FALSE(parse_example(from_hex("0affffffffffffffffff01")));      // a length beyond all bytes
  EXPECT_FALSE(parse_example(from_hex("0affffffffffffffffffffff01")));  // a number of too many bytes
}

TEST(ImageExample, HasTheBytesOfSlimsExamples) {
  EXPECT_EQ(write_image_example({300, 2, 3, "jpeg", "\xff\xd8\xff"}), from_hex(kImage));
  std::string why;
  const std::string bytes = from_hex(kImage);
  const std::optional<ImageExample> image = parse_image_example(bytes, why);
  ASSERT_TRUE(image) << why;
  EXPECT_EQ(image->label, 300);
  EXPECT_EQ(image->height, 2);
  EXPECT_EQ(image->width, 3);
  EXPECT_EQ(image->format, "jpeg");
  EXPECT_EQ(image->encoded, "\xff\xd8\xff");
}

std::string why_no_image(const Example& example) {
  std::string why;
  EXPECT_FALSE(parse_image_example(write_example(example), why));
  return why;
}

TEST(ImageExample, SaysWhatIsMissing) {
  Example example;
  example["image/class/label"].ints = {1};
  EXPECT_EQ(why_no_image(example), "it has no single 'image/encoded'");
  example["image/encoded"].bytes = {"x"};
  example["image/class/label"].ints = {1, 2};
  EXPECT_EQ(why_no_image(example), "it has no single 'image/class/label'");
  example["image/class/label"].ints = {std::int64_t{1} << 31};
  EXPECT_EQ(why_no_image(example), "its label 2147483648 has more than 32 bits");
  example["image/class/label"].ints = {-1};
  std::string why;
  const std::string bytes = write_example(example);
  const std::optional<ImageExample> least = parse_image_example(bytes, why);
  ASSERT_TRUE(least);
  EXPECT_EQ(least->label, -1);
  EXPECT_EQ(least->height, 0);
  EXPECT_EQ(least->format, "");
}

TEST(ImageExample, RandomBytesNeverBreakTheParser) {
  const std::string image = from_hex(kImage);
  std::string why;
  int parsed = 0;
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const Philox random(5, round);
    std::string bytes = image;
    for (std::uint64_t flip = 0; flip <= round % 4; ++flip) {
      const Philox::Block words = random.block(flip);
      bytes[words[0] % bytes.size()] = static_cast<char>(words[1]);
    }
    const std::optional<ImageExample> found = parse_image_example(bytes, why);
    if (!found) continue;
    ++parsed;
    // The views lie within the message.
    ASSERT_GE(found->encoded.data(), bytes.data());
    ASSERT_LE(found->encoded.data() + found->encoded.size(), bytes.data() + bytes.size());
  }
  EXPECT_GT(parsed, 100);  // damage of values is not seen here: that is what the CRC is for
}

}  // namespace

}  // namespace trainyard::data
