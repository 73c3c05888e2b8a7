#include "weights/state_dict.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_damage.h"
#include "base/test_folder.h"
#include "weights/test_state_dict.h"

namespace trainyard::weights {
namespace {

std::vector<Tensor> parse_dict(const std::string& file) {
  return parse_state_dict({reinterpret_cast<const std::byte*>(file.data()), file.size()}, "weights.pkl");
}

// Makes a state dict in which only the pickle matters.
std::string with_pickle(const std::string& pickle) {
  return make_zip({{"archive/data.pkl", pickle}, {"archive/data/7", float_bytes(6, 1)}});
}

void expect_refused(const std::string& part, const std::string& file) {
  expect_error(ErrorKind::config, part, [&] { parse_dict(file); });
}

TEST(StateDict, ReadsTensorsInPlainOrder) {
  const auto tensors = parse_dict(small_state_dict());
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "weight");
  EXPECT_EQ(tensors[0].to_string(), "f32 2x3");
  EXPECT_EQ(numbers_of(tensors[0]), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers_of(tensors[1]), (std::vector<double>{10, 12, 14}));
  const std::string by_columns =
      with_pickle(pickled_dict({{"w", pickled_tensor("7", 6, 0, {3, 2}, {1, 3})}}));
  EXPECT_EQ(numbers_of(parse_dict(by_columns)[0]), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(StateDict, ReadsEveryType) {
  const std::string half("\x00\x3c\x00\xc0\x01\x00", 6), bf16("\x80\x3f\x00\xc0", 4),
      whole("\x07\0\0\0\0\0\0\0", 8);
  const auto tensor = [](const char* storage, int elements, const char* type) {
    std::string pickled = pickled_tensor(storage, elements, 0, {elements}, {1});
    return pickled.replace(pickled.find("FloatStorage"), 12, type);
  };
  const std::string file = make_zip({{"a/data.pkl", pickled_dict({{"h", tensor("0", 3, "HalfStorage")},
                                                                  {"b", tensor("1", 2, "BFloat16Storage")},
                                                                  {"d", tensor("2", 1, "DoubleStorage")},
                                                                  {"n", tensor("3", 1, "LongStorage")}})},
                                     {"a/data/0", half},
                                     {"a/data/1", bf16},
                                     {"a/data/2", std::string("\0\0\0\0\0\0\xe0\x3f", 8)},
                                     {"a/data/3", whole}});
  const auto tensors = parse_dict(file);
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(numbers_of(tensors[0]), (std::vector<double>{1, -2, std::ldexp(1.0, -24)}));
  EXPECT_EQ(numbers_of(tensors[1]), (std::vector<double>{1, -2}));
  EXPECT_EQ(numbers_of(tensors[2]), (std::vector<double>{0.5}));
  EXPECT_EQ(numbers_of(tensors[3]), (std::vector<double>{7}));
  EXPECT_EQ(tensors[3].to_string(), "i64 1");
}

// As trainings keep them, beside a number of epochs, losses and the learning rate.
TEST(StateDict, ReadsTheOneInsideOfATraining) {
  const std::string dict = pickled_dict({{"w", pickled_tensor("7", 6, 0, {6}, {1})}});
  const std::string inner = dict.substr(2, dict.size() - 3);
  const std::string whole = std::string("\x80\x02}(") + pickled_text("epoch") + "K\x03" +
                            pickled_text("seen") + std::string("\x8a\x05\0\0\0\0\x01", 7) +
                            pickled_text("losses") + "](G" + std::string(8, '\0') + "Ne" +
                            pickled_text("state_dict") + inner + "u.";
  const std::string file = with_pickle(whole);
  const auto tensors = parse_dict(file);
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].name, "w");
}

TEST(StateDict, ExecutesNothing) {
  const std::string call = std::string("\x80\x02") + "cposix\nsystem\n(" + pickled_text("true") + "tR.";
  expect_refused("'weights.pkl': its pickle names 'posix.system'", with_pickle(call));
  expect_refused("names 'builtins.eval'", with_pickle(std::string("\x80\x02") + "cbuiltins\neval\n."));
  expect_refused("names 'torch.ComplexFloatStorage'",
                 with_pickle(std::string("\x80\x02") + "ctorch\nComplexFloatStorage\n."));
  expect_refused("names '__torch__.Net'", with_pickle(std::string("\x80\x02") + "c__torch__\nNet\n."));
  expect_refused("opcode 0x69", with_pickle(std::string("\x80\x02") + "(i"));    // INST
  expect_refused("opcode 0x93", with_pickle(std::string("\x80\x02") + "\x93"));  // STACK_GLOBAL
  expect_refused("protocol 4", with_pickle(std::string("\x80\x04") + "."));
}

TEST(StateDict, RefusesOtherPickles) {
  const std::string begin = "\x80\x02";
  expect_refused("leaves more or less", with_pickle(begin + "."));
  expect_refused("a dictionary at the end", with_pickle(begin + "K\x01."));
  expect_refused("tensors only", with_pickle(begin + "}" + pickled_text("a") + "K\x01s."));
  expect_refused("takes a value where there is none", with_pickle(begin + "s."));
  expect_refused("takes a mark", with_pickle(begin + "t."));
  expect_refused("did not remember", with_pickle(begin + "h\x05."));
  expect_refused("cut short", with_pickle(begin + "}"));
  expect_refused("another attribute", with_pickle(begin + "}}" + pickled_text("x") + "K\x01sb."));
  expect_refused("occurs twice", with_pickle(pickled_dict({{"w", pickled_tensor("7", 6, 0, {1}, {1})},
                                                           {"w", pickled_tensor("7", 6, 0, {1}, {1})}})));
}

TEST(StateDict, RefusesTensorsBeyondTheirStorage) {
  const auto refused = [](int elements, int offset, const std::vector<int>& shape,
                          const std::vector<int>& strides) {
    expect_refused("tensor 'w'",
                   with_pickle(pickled_dict({{"w", pickled_tensor("7", elements, offset, shape, strides)}})));
  };
  refused(6, 1, {2, 3}, {3, 1});
  refused(6, -1, {2}, {1});
  refused(6, 0, {2, 3}, {4, 1});
  refused(6, 0, {7}, {0});  // more numbers than there are
  refused(6, 0, {2, 3}, {1});
  refused(6, 0, {-1, -1}, {1, 1});
  refused(6, 7, {0}, {1});
  expect_refused("wants 5 numbers of f32",
                 with_pickle(pickled_dict({{"w", pickled_tensor("7", 5, 0, {1}, {1})}})));
  expect_refused("are missing", with_pickle(pickled_dict({{"w", pickled_tensor("9", 6, 0, {1}, {1})}})));
}

TEST(StateDict, RefusesOtherArchives) {
  expect_refused("has no end of a directory", "");
  expect_refused("has no end of a directory", std::string(1000, 'x'));
  expect_refused("before 1.6", std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15));
  expect_refused("is a pickle alone", std::string("\x80\x02}."));
  expect_refused("no entry FOLDER/data.pkl", make_zip({{"data.pkl", "x"}}));
  std::string compressed = small_state_dict();
  compressed[compressed.find("PK\x01\x02") + 10] = 8;
  expect_refused("is compressed", compressed);
  std::string encrypted = small_state_dict();
  encrypted[encrypted.find("PK\x01\x02") + 8] = 1;
  expect_refused("is encrypted", encrypted);
  std::string damaged = small_state_dict();
  damaged[damaged.find(float_bytes(6, 1)) + 2] ^= 1;
  expect_refused("checksum mismatch", damaged);
}

TEST(StateDict, ReadsArchivesBeyondFourGigabytes) {
  const std::string pickle = pickled_dict({{"w", pickled_tensor("7", 6, 0, {6}, {1})}});
  const std::string wide = make_wide_zip({{"a/data.pkl", pickle}, {"a/data/7", float_bytes(6, 1)}});
  EXPECT_EQ(numbers_of(parse_dict(wide)[0]), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  expect_damage_is_seen(wide, [](const std::string& file) { parse_dict(file); });
  std::string no_size = wide;
  no_size[no_size.find("ab\x01") + 2] = 2;  // the field is another one then
  expect_refused("without the size that it announces", no_size);
  std::string no_locator = wide;
  no_locator[no_locator.find("PK\x06\x07")] = 'X';
  expect_refused("no end of a directory of 64 bits", no_locator);
}

TEST(StateDict, DamagedFilesAreRefusedOrRead) {
  expect_damage_is_seen(small_state_dict(), [](const std::string& file) { parse_dict(file); });
}

TEST(StateDict, CorpusIsRefusedOrRead) {
  EXPECT_GE(replay_corpus("state_dict", [](const std::string& file) { parse_dict(file); }), 3);
}

}  // namespace
}  // namespace trainyard::weights
