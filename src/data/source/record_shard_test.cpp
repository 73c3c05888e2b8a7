#include "data/source/record_shard.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::data {

namespace {

TEST(ShardName, SaysSetNumberAndCount) {
  struct Case {
    const char *file, *stem;
    int number, shards;
  };
  for (const Case& expected :
       {Case{"flowers-train-00002-of-00005.tfrecord", "flowers-train", 2, 5},
        Case{"flowers_train_00002-of-00005.tfrecord", "flowers_train", 2, 5},
        Case{"validation-00127-of-00128", "validation", 127, 128},
        Case{"cifar10_test.tfrecord", "cifar10_test", 0, 1}, Case{"x.tfrecords", "x", 0, 1},
        Case{"00000-of-00001", "", 0, 1}, Case{"a-7-of-7.tfrecord", "a-7-of-7", 0, 1}}) {
    const std::optional<ShardName> name = parse_shard_name(expected.file);
    ASSERT_TRUE(name) << expected.file;
    EXPECT_EQ(name->stem, expected.stem);
    EXPECT_EQ(name->number, expected.number);
    EXPECT_EQ(name->shards, expected.shards);
  }
  for (const char* other : {"labels.txt", "a-00000-of-00002.tfrecord.part-17", ".tfrecord", ".a.tfrecord",
                            "-of-", "", "a-1-of-99999999999999999999", "train-of-5"})
    EXPECT_FALSE(parse_shard_name(other)) << other;
  EXPECT_EQ(shard_file("a-train", 3, 12), "a-train-00003-of-00012.tfrecord");
}

TEST(ShardName, SplitsAreWords) {
  EXPECT_TRUE(names_split("train", "train"));
  EXPECT_TRUE(names_split("flowers_train", "train"));
  EXPECT_FALSE(names_split("trains-test", "train"));
  EXPECT_TRUE(names_split("imagenet-validation", "test"));
  EXPECT_TRUE(names_split("cifar10_test", "validation"));
  EXPECT_FALSE(names_split("cifar10_test", "train"));
}

TEST(FindShards, TakesTheSplitInOrder) {
  const TestFolder folder;
  for (const char* name : {"b-train-00001-of-00002", "b-train-00000-of-00002", "b-test.tfrecord",
                           "labels.txt", "b-train-00001-of-00002.part-3"})
    folder.write(name, "x");
  const auto path = [&](const char* name) { return folder.path() / name; };
  using Paths = std::vector<std::filesystem::path>;
  EXPECT_EQ(find_shards(folder.path(), "train"),
            (Paths{path("b-train-00000-of-00002"), path("b-train-00001-of-00002")}));
  EXPECT_EQ(find_shards(folder.path(), "validation"), Paths{path("b-test.tfrecord")});
  EXPECT_EQ(find_shards(folder.path(), "").size(), 3u);
  EXPECT_EQ(find_shards(path("labels.txt"), "train"), Paths{path("labels.txt")});
  expect_error(ErrorKind::config, "no record files of split 'extra', only of 'b-test' and others",
               [&] { find_shards(folder.path(), "extra"); });
  expect_error(ErrorKind::config, "no folder of record files", [&] { find_shards(path("none"), ""); });
  const TestFolder empty;
  expect_error(ErrorKind::config, "no record files (", [&] { find_shards(empty.path(), ""); });
}

TEST(FindShards, NamesWhatIsMissing) {
  EXPECT_EQ(missing_shards({"a/x-00000-of-00003.tfrecord", "a/x-00002-of-00003.tfrecord", "a/y.tfrecord"}),
            std::vector<std::string>{"x-00001-of-00003.tfrecord"});
  EXPECT_TRUE(missing_shards({"a/x-00000-of-00001"}).empty());
}

}  // namespace

}  // namespace trainyard::data
