#include "weights/safetensors.h"

#include <gtest/gtest.h>

#include "base/test_damage.h"
#include "base/test_folder.h"

namespace trainyard::weights {
namespace {

std::vector<std::byte> bytes_of(const std::vector<float>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(float));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::vector<Tensor> parse(const std::string& file) {
  return parse_safetensors({reinterpret_cast<const std::byte*>(file.data()), file.size()}, "w.safetensors");
}

std::string small_file() {
  std::string file;
  write_safetensors({{"w",
                      Element::f32,
                      {2, 3},
                      [] {
                        return bytes_of({1, 2, 3, 4, 5, 6});
                      }},
                     {"b",
                      Element::f32,
                      {3},
                      [] {
                        return bytes_of({7, 8, 9});
                      }}},
                    {{"network", "lenet"}}, [&](std::string_view piece) { file += piece; });
  return file;
}

std::string with_header(const std::string& header, std::size_t bytes = 8) {
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> 8 * i);
  return length + header + std::string(bytes, '\0');
}

void expect_no_file(const std::string& part, const std::string& file) {
  expect_error(ErrorKind::config, part, [&] { parse(file); });
}

TEST(Safetensors, ComeBackAsTheyWereWritten) {
  const std::string file = small_file();
  const auto tensors = parse(file);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "w");
  EXPECT_EQ(tensors[0].to_string(), "f32 2x3");
  EXPECT_EQ(numbers_of(tensors[0]), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers_of(tensors[1]), (std::vector<double>{7, 8, 9}));
  EXPECT_EQ((tensors[0].content.data() - reinterpret_cast<const std::byte*>(file.data())) % 8, 0);
}

TEST(Safetensors, OfEveryTypeAreRead) {
  const std::string file = with_header(
      R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"BF16","shape":[],"data_offsets":[4,6]},)"
      R"("t":{"dtype":"BOOL","shape":[2,1],"data_offsets":[6,8]}})",
      0);
  const auto tensors = parse(file + std::string("\x00\x3c\x00\xfc\x00\xc0\x01\x00", 8));
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[2].to_string(), "bool 2x1");
  // The tensors point into a string that is gone; their numbers are read from one that stays.
  const std::string stays = file + std::string("\x00\x3c\x00\xfc\x00\xc0\x01\x00", 8);
  const auto again = parse(stays);
  EXPECT_EQ(numbers_of(again[0]), (std::vector<double>{1, -std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(numbers_of(again[1]), (std::vector<double>{-2}));
  EXPECT_EQ(numbers_of(again[2]), (std::vector<double>{1, 0}));
}

TEST(Safetensors, RefusesWhatIsNoHeader) {
  expect_no_file("is cut short", "");
  expect_no_file("is cut short", "1234567");
  expect_no_file("header has 2 bytes, 1 are there", with_header("{}", 0).substr(0, 9));
  expect_no_file("at most 100000000", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
  expect_no_file("no JSON", with_header("{"));
  expect_no_file("no JSON object", with_header("[1]"));
  expect_no_file("nested too deep", with_header(R"({"w":[[[[[[1]]]]]]})"));
  expect_no_file("nested too deep", with_header(std::string(100000, '[')));
}

TEST(Safetensors, RefusesTensorsThatDoNotFit) {
  const auto row = [](const char* type, const char* shape, const char* offsets) {
    return with_header(
        fmt::format(R"({{"w":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", type, shape, offsets));
  };
  EXPECT_EQ(parse(row("F32", "[2]", "[0,8]")).size(), 1u);
  expect_no_file("tensor 'w' is F8_E4M3", row("F8_E4M3", "[8]", "[0,8]"));
  expect_no_file("has 8 bytes, wants 12", row("F32", "[3]", "[0,8]"));
  expect_no_file("lies at bytes 0 to 16 of 8", row("F32", "[4]", "[0,16]"));
  expect_no_file("lies at bytes 8 to 0", row("F32", "[2]", "[8,0]"));
  expect_no_file("more than", row("F32", "[4294967296,4294967296,4294967296]", "[0,8]"));
  expect_no_file("no whole number", row("F32", "[-2]", "[0,8]"));
  expect_no_file("no whole number", row("F32", "[2.5]", "[0,8]"));
  expect_no_file("no list of at most", row("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"));
  expect_no_file("no two numbers", row("F32", "[2]", "[0,8,8]"));
  expect_no_file("has no shape", with_header(R"({"w":{"dtype":"F32"}})"));
  expect_no_file("no JSON object", with_header(R"({"w":3})"));
  expect_no_file("its tensors take 4 bytes, and 8", row("F32", "[1]", "[0,4]"));
  expect_no_file("begins at byte 4", row("F32", "[1]", "[4,8]"));
  expect_no_file("'b' begins at byte 0 of the numbers, its predecessor ends at 8",
                 with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"));
}

TEST(Safetensors, DamagedFilesAreRefusedOrRead) {
  expect_damage_is_seen(small_file(), [](const std::string& file) { parse(file); });
}

}  // namespace
}  // namespace trainyard::weights
