#include "predict/gnn/state_dict.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_folder.h"
#include "predict/gnn/test_damage.h"
#include "predict/gnn/test_state_dict.h"

namespace trainyard::predict {
namespace {

std::vector<NamedTensor> parse_dict(const std::string& file) {
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
  EXPECT_EQ(tensors[0].shape, (Shape{2, 3}));
  EXPECT_EQ(tensors[0].numbers, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tensors[1].numbers, (std::vector<float>{10, 12, 14}));
  const auto columns =
      parse_dict(with_pickle(pickled_dict({{"w", pickled_tensor("7", 6, 0, {3, 2}, {1, 3})}})));
  EXPECT_EQ(columns[0].numbers, (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(StateDict, ExecutesNothing) {
  const std::string call = std::string("\x80\x02") + "cposix\nsystem\n(" + pickled_text("true") + "tR.";
  expect_refused("'weights.pkl': its pickle names 'posix.system'", with_pickle(call));
  expect_refused("names 'builtins.eval'", with_pickle(std::string("\x80\x02") + "cbuiltins\neval\n."));
  expect_refused("names 'torch.LongStorage'",
                 with_pickle(std::string("\x80\x02") + "ctorch\nLongStorage\n."));
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
  expect_refused("wants 5 floats", with_pickle(pickled_dict({{"w", pickled_tensor("7", 5, 0, {1}, {1})}})));
  expect_refused("are missing", with_pickle(pickled_dict({{"w", pickled_tensor("9", 6, 0, {1}, {1})}})));
}

TEST(StateDict, RefusesOtherArchives) {
  expect_refused("has no end of a directory", "");
  expect_refused("has no end of a directory", std::string(1000, 'x'));
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

TEST(StateDict, DamagedFilesAreRefusedOrRead) {
  expect_damage_is_seen(small_state_dict(), [](const std::string& file) { parse_dict(file); });
}

TEST(StateDict, CorpusIsRefusedOrRead) {
  EXPECT_GE(replay_corpus("state_dict", [](const std::string& file) { parse_dict(file); }), 3);
}

}  // namespace
}  // namespace trainyard::predict
