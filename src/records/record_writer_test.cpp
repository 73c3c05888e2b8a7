#include "records/record_writer.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "records/test_set.h"

namespace trainyard::records {
namespace {

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(RecordWriter, WritesTheBytesOfTfrecord) {
  const TestFolder folder;
  RecordWriter writer({folder.path() / "new", "x", "test", 1, 1});
  writer.add({300, 2, 3, "jpeg", "\xff\xd8\xff"});
  writer.finish();
  // Made by a program of its own.
  const std::string expected = from_hex(
      "80000000000000002a5b60ec0a7e0a1b0a11696d6167652f636c6173732f6c6162656c12061a040a02ac02"
      "0a180a0d696d6167652f656e636f64656412070a050a03ffd8ff0a180a0c696d6167652f666f726d617412080a060a046a7065"
      "67"
      "0a150a0c696d6167652f68656967687412051a030a01020a140a0b696d6167652f776964746812051a030a0103e9cab75e");
  EXPECT_EQ(content_of(folder.path() / "new" / "x-test-00000-of-00001.tfrecord"), expected);
  EXPECT_EQ(writer.bytes(), static_cast<std::int64_t>(expected.size()));
}

TEST(RecordWriter, ShardsTogetherAreTheSetInOneShard) {
  for (const int shards : {2, 3, 7, 10}) {
    const TestFolder one, several;
    write_made_up_set(one.path(), 10, 1);
    write_made_up_set(several.path(), 10, shards);
    const std::vector<std::string> names = names_in(several.path());
    ASSERT_EQ(names.size(), static_cast<std::size_t>(shards));
    std::string together;
    for (const std::string& name : names) together += content_of(several.path() / name);
    EXPECT_EQ(together, content_of(one.path() / names_in(one.path()).front()));
  }
}

TEST(RecordWriter, LeavesNothingUnfinished) {
  const TestFolder folder;
  {
    RecordWriter writer({folder.path(), "x", "train", 3, 9});
    for (int i = 0; i < 5; ++i) writer.add({0, 1, 1, "png", "abc"});
    EXPECT_EQ(names_in(folder.path()).size(), 2u);  // one complete, one aside
  }
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(RecordWriter, RefusesWhatWouldMixOrBeEmpty) {
  const TestFolder folder;
  write_made_up_set(folder.path(), 4, 2);
  expect_error(ErrorKind::config, "-of-00002.tfrecord' is already there",
               [&] { write_made_up_set(folder.path(), 3, 3); });
  const auto make = [&](const std::string& name, const std::string& split, int shards) {
    RecordWriter({folder.path(), name, split, shards, 4});
  };
  expect_error(ErrorKind::config, "5 shards of 4 records", [&] { make("y", "train", 5); });
  expect_error(ErrorKind::config, "0 shards of 4 records", [&] { make("y", "train", 0); });
  expect_error(ErrorKind::config, "'a/b' cannot be part", [&] { make("a/b", "train", 1); });
  expect_error(ErrorKind::config, "'' cannot be part", [&] { make("y", "", 1); });
  EXPECT_EQ(names_in(folder.path()).size(), 2u);
}

}  // namespace
}  // namespace trainyard::records
