#include "data/source/record_writer.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "data/source/record_shard.h"
#include "data/source/test_set.h"

namespace trainyard::data {

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
  // A separate program made these bytes.
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

// Adds images from where it stands until `end`.
void add_made_up(RecordWriter& writer, std::int64_t end) {
  while (writer.added() < end) {
    const std::string image = made_up_image(writer.added());
    writer.add({0, 1, 1, "png", image});
  }
}

TEST(RecordWriter, GoesOnFromTheShardsThatAreComplete) {
  const TestFolder folder;
  const WriterOptions all{folder.path() / "whole", "x", "train", 4, 10};
  WriterOptions cut{folder.path() / "cut", "x", "train", 4, 10};
  RecordWriter whole(all);
  add_made_up(whole, 10);
  whole.finish();
  {
    RecordWriter writer(cut);
    add_made_up(writer, 8);  // shards of 2, 3 and 2, and one of the fourth's
    writer.stop();
    EXPECT_EQ(writer.complete_shards(), 3);
    EXPECT_EQ(writer.added(), 7);
  }
  EXPECT_EQ(names_in(cut.folder).size(), 3u) << "nothing is left aside";
  expect_error(ErrorKind::config, "is already there", [&] { RecordWriter writer(cut); });
  cut.resume = true;
  {
    RecordWriter writer(cut);
    EXPECT_EQ(writer.added(), 7);
    const std::string right = made_up_image(writer.first_of_shard(1)), wrong = made_up_image(9);
    writer.want_first_of_shard(1, {0, 1, 1, "png", right});
    expect_error(ErrorKind::config, "begins with another image", [&] {
      writer.want_first_of_shard(1, {0, 1, 1, "png", wrong});
    });
  }
  EXPECT_EQ(names_in(cut.folder).size(), 3u) << "one that fails removes only what it wrote";
  {
    RecordWriter writer(cut);
    add_made_up(writer, 10);
    writer.finish();
    EXPECT_EQ(writer.bytes(), whole.bytes());
  }
  for (const std::string& name : names_in(all.folder))
    EXPECT_EQ(content_of(cut.folder / name), content_of(all.folder / name)) << name;
}

TEST(RecordWriter, ResumesNothingButItsOwnSet) {
  const TestFolder folder;
  WriterOptions options{folder.path(), "x", "train", 4, 10, true};
  const auto shard = [&](int number) { return folder.path() / shard_file("x-train", number, 4); };
  {
    RecordWriter writer(options);
    add_made_up(writer, 8);
    writer.stop();
  }
  options.shards = 5;
  expect_error(ErrorKind::config, "does not go on from", [&] { RecordWriter writer(options); });
  options.shards = 4;
  options.records = 20;
  expect_error(ErrorKind::config, "2 whole records, 5 expected", [&] { RecordWriter writer(options); });
  options.records = 10;
  std::filesystem::remove(shard(1));
  expect_error(ErrorKind::config, "does not go on from the 1 shards", [&] { RecordWriter writer(options); });
  EXPECT_EQ(names_in(folder.path()).size(), 2u);
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

}  // namespace trainyard::data
