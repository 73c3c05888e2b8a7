// `data pack` and `data info`: sets of record files.

#include <fstream>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/image_folder.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

class RecordsTest : public CliTest {
 protected:
  Json json_from(const std::string& arguments) const {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? parse_json(result.out) : Json::object();
  }
};

TEST_F(RecordsTest, AFolderOfClassesIsPackedAndDescribed) {
  make_image_folder(work() / "flowers");
  std::ofstream(work() / "flowers" / "rose" / "notes.txt") << "no image";
  const Json packed = json_from("data pack flowers/ --to records --shards 2 --json");
  EXPECT_EQ(packed["sets"].size(), 1u);
  EXPECT_EQ(packed["sets"][0]["name"], "flowers");
  EXPECT_EQ(packed["sets"][0]["records"], 6);
  EXPECT_EQ(packed["sets"][0]["classes"], 2);
  EXPECT_EQ(packed["left_out"], Json({"flowers/rose/notes.txt"}));
  EXPECT_TRUE(fs::exists(work() / "records" / "flowers-train-00001-of-00002.tfrecord"));
  std::string labels;
  std::getline(std::ifstream(work() / "records" / "labels.txt"), labels, '\0');
  EXPECT_EQ(labels, "0:daisy\n1:rose\n");

  const Json info = json_from("data info records --verify --json");
  EXPECT_EQ(info["records"], 6);
  EXPECT_EQ(info["labels"], (Json{{"0", 3}, {"1", 3}}));
  EXPECT_EQ(info["formats"], (Json{{"png", 6}}));
  EXPECT_EQ(info["height"], Json({12, 12}));
  EXPECT_EQ(info["shards"].size(), 2u);
  EXPECT_EQ(info["bytes"], packed["sets"][0]["bytes"]);

  ASSERT_EQ(run("data pack flowers --to records --split validation").exit_code, 0);
  EXPECT_EQ(json_from("data info records --json")["records"], 12);
  EXPECT_EQ(json_from("data info records --split test --json")["records"], 6);
  const CommandResult table = run("data info records");
  EXPECT_NE(table.out.find("flowers-train"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("12 records"), std::string::npos) << table.out;
}

TEST_F(RecordsTest, BothSplitsOfADatasetArePacked) {
  fs::create_directories(work() / "mnist");
  for (const char* split : {"train", "t10k"}) {
    const std::string images =
        std::string("\0\0\x08\x03\0\0\0\x03\0\0\0\x1c\0\0\0\x1c", 16) + std::string(3 * 784, '\x40');
    const std::string labels = std::string("\0\0\x08\x01\0\0\0\x03\x01\x09\x04", 11);
    std::ofstream(work() / "mnist" / (split + std::string("-images-idx3-ubyte")), std::ios::binary) << images;
    std::ofstream(work() / "mnist" / (split + std::string("-labels-idx1-ubyte")), std::ios::binary) << labels;
  }
  expect_failure("data pack mnist --to records", 1, "run 'trainyard data get mnist' first");
  ASSERT_EQ(run("data get mnist --from mnist").exit_code, 0);
  const Json packed = json_from("data pack mnist --to records --json");
  ASSERT_EQ(packed["sets"].size(), 2u);
  EXPECT_EQ(packed["sets"][1]["split"], "test");
  const Json info = json_from("data info records --split train --verify --json");
  EXPECT_EQ(info["labels"], (Json{{"1", 1}, {"4", 1}, {"9", 1}}));
  EXPECT_EQ(info["width"], Json({28, 28}));
}

TEST_F(RecordsTest, SyntheticPhotosAreTheSameEveryTime) {
  const std::string options = " --images 30 --classes 4 --pixels 40..64 --seed 7 --json";
  EXPECT_EQ(json_from("data pack synthetic --to a" + options)["sets"],
            json_from("data pack synthetic --to b" + options)["sets"]);
  const Json info = json_from("data info a --json");
  EXPECT_EQ(info["formats"], (Json{{"jpeg", 30}}));
  EXPECT_EQ(info["classes"], 4);
  EXPECT_GE(info["height"][0], 40);
  EXPECT_LE(info["height"][1], 64);
  const auto content = [&](const char* folder) {
    std::string text;
    std::getline(std::ifstream(work() / folder / "photos-train-00000-of-00001.tfrecord", std::ios::binary),
                 text, '\x7f');
    return text;
  };
  EXPECT_EQ(content("a"), content("b"));
}

TEST_F(RecordsTest, DamageIsToldByFileAndByte) {
  ASSERT_EQ(run("data pack synthetic --to a --images 8 --pixels 32 --shards 2 --quiet").exit_code, 0);
  const fs::path shard = work() / "a" / "photos-train-00000-of-00002.tfrecord";
  std::fstream(shard, std::ios::binary | std::ios::in | std::ios::out).seekp(200).put('\x55').put('\x54');
  EXPECT_EQ(run("data info a").exit_code, 0);  // contents are not looked at
  const CommandResult result = run("data info a --verify");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("1 damaged records"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("photos-train-00000-of-00002.tfrecord': record at byte 0: "), std::string::npos)
      << result.out;
  fs::remove(shard);
  const CommandResult missing = run("data info a --verify");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.out.find("missing: 1 shards"), std::string::npos) << missing.out;
}

TEST_F(RecordsTest, Mistakes) {
  expect_failure("data pack flowers --to a", 1,
                 "'flowers' is neither a folder nor one of mnist, cifar10, synthetic");
  expect_failure("data pack cifar01 --to a", 1, "did you mean 'cifar10'?");
  expect_failure("data pack synthetic", 1, "--to");
  expect_failure("data pack synthetic --to a --pixels 5..x", 1, "--pixels '5..x'");
  expect_failure("data pack synthetic --to a --pixels 5..9", 1, "photos of 5..9 pixels");
  expect_failure("data pack synthetic --to a --images 0", 1, "--images: '0' given");
  expect_failure("data pack synthetic --to a --images 3 --shards 4", 1, "4 shards of 3 records");
  expect_failure("data pack mnist --to a --split validation", 1, "has train and test");
  expect_failure("data pack synthetic --to /proc/none --images 3", 1, "cannot write into folder");
  ASSERT_EQ(run("data pack synthetic --to a --images 3 --pixels 32").exit_code, 0);
  expect_failure("data pack synthetic --to a --images 4 --pixels 32", 1, "is already there");
  expect_failure("data info none", 1, "no folder of record files");
  expect_failure("data info a --split test", 1, "no record files of split 'test', only of 'photos-train'");
  std::ofstream(work() / "b.tfrecord") << "these bytes are no record at all";
  expect_failure("data info b.tfrecord", 1, "record at byte 0: its length does not agree");
}

}  // namespace
}  // namespace trainyard::cli_test
