// Tests of `train --data` on record files, folders of images and texts.

#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>

#include <fmt/core.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/image_folder.h"
#include "cli/small_disk.h"
#include "engine/checkpoint.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

class DataSourcesTest : public CliTest {
 protected:
  // One thread where one is enough: several wait for each other on a busy machine.
  Json object_from(const std::string& arguments) const {
    const bool several =
        arguments.find("--devices") != std::string::npos || arguments.find("--workers") != std::string::npos;
    const CommandResult result = run(arguments + " --json --quiet" + (several ? "" : " --threads 1"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? parse_json(result.out) : Json::object();
  }

  std::vector<std::byte> weights_in(const std::string& folder) const {
    const auto latest = engine::latest_checkpoint(work() / folder);
    return latest ? read_file(*latest / "tensors.bin") : std::vector<std::byte>{};
  }

  // A run in one go and one in two parts end alike.
  void expect_resumes(const std::string& arguments) const {
    SCOPED_TRACE(arguments);
    const Json whole = object_from(arguments + " --steps 9 --out whole --overwrite");
    object_from(arguments + " --steps 4 --out cut --overwrite");
    const Json rest = object_from(arguments + " --steps 9 --out cut --resume");
    EXPECT_FALSE(weights_in("whole").empty());
    EXPECT_EQ(weights_in("cut"), weights_in("whole"));
    EXPECT_EQ(rest["test_accuracy"], whole["test_accuracy"]);
    EXPECT_EQ(rest["first_loss"], whole["first_loss"]);
  }

  void write_text() const {
    std::ofstream text(work() / "text");
    for (int i = 0; i < 400; ++i) text << "line " << i * i % 97 << " of a text that is no secret\n";
  }

  // Trains on a copy as in place, says what was copied, and leaves nothing, not even what a killed run left.
  Json expect_stages(const std::string& arguments) const {
    SCOPED_TRACE(arguments);
    const fs::path target = work() / "target";
    const auto left = [&] { return std::distance(fs::directory_iterator(target), {}); };
    fs::create_directories(target);
    const Json plain = object_from(arguments + " --steps 5");
    const std::string staging = arguments + " --staging local --staging-folder target";
    Command endless(trainyard(staging + " --no-eval --quiet --threads 1 --steps 1000000"), options());
    while (endless.running() && left() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    endless.signal(SIGKILL);
    EXPECT_NE(endless.wait().exit_code, 0);
    EXPECT_EQ(left(), 1);
    const Json staged = object_from(staging + " --steps 5");
    EXPECT_EQ(left(), 0);
    for (const char* key : {"first_loss", "final_loss", "test_accuracy"}) EXPECT_EQ(staged[key], plain[key]);
    EXPECT_EQ(staged["staging"], "local");
    EXPECT_EQ(staged["data"], plain["data"]);
    EXPECT_GT(staged["staging_bytes"].get<std::int64_t>(), 0);
    EXPECT_GT(staged["staging_bytes_per_second"].get<double>(), 0);
    EXPECT_EQ(staged["staging_sha256"].get<std::string>().size(), 64u);
    const SmallDisk disk(target, "size=4k");
    if (disk.error() == 0) {
      expect_failure(staging + " --steps 5", 2, "has 4.00 KiB free, data set '");
      EXPECT_EQ(left(), 0);
    }
    return staged;
  }

  static constexpr const char* kRnn =
      "train --network rnn --cell gru --layers 1 --hidden 16 --length 10 --batch 8 ";
};

TEST_F(DataSourcesTest, RecordsOfADataSetTrainAsTheDataSet) {
  fs::create_directories(work() / "mnist");
  std::string images("\0\0\x08\x03\0\0\0\x28\0\0\0\x1c\0\0\0\x1c", 16), labels("\0\0\x08\x01\0\0\0\x28", 8);
  for (int i = 0; i < 40; ++i) {
    labels += static_cast<char>(i % 10);
    for (int pixel = 0; pixel < 784; ++pixel) images += static_cast<char>(pixel * (i % 10 + 1) % 251 + i % 3);
  }
  for (const std::string split : {"train", "t10k"}) {
    std::ofstream(work() / "mnist" / (split + "-images-idx3-ubyte"), std::ios::binary) << images;
    std::ofstream(work() / "mnist" / (split + "-labels-idx1-ubyte"), std::ios::binary) << labels;
  }
  ASSERT_EQ(run("data get mnist --from mnist").exit_code, 0);
  ASSERT_EQ(run("data pack mnist --to records").exit_code, 0);
  for (const std::string network : {"lenet", "deepmnist"}) {
    const std::string more = " --batch 8 --steps 12 --network " + network;
    const Json decoded = object_from("train --data mnist" + more),
               records = object_from("train --data tfrecord:records" + more);
    for (const char* key : {"first_loss", "final_loss", "test_accuracy"})
      EXPECT_EQ(records[key], decoded[key]) << network << " " << key;
  }
  expect_resumes("train --network lenet --batch 8 --checkpoint-every 2 --data tfrecord:records/");
  const Json two = object_from(
      "train --network lenet --batch 16 --steps 5 --devices 2 --strategy towers-host --scaling strong --data "
      "tfrecord:records");
  const Json one = object_from("train --network lenet --batch 16 --steps 5 --data tfrecord:records");
  EXPECT_NEAR(two["final_loss"].get<double>(), one["final_loss"].get<double>(), 1e-4);
}

TEST_F(DataSourcesTest, AFolderOfImages) {
  make_image_folder(work() / "flowers", 20);
  const std::string arguments = "train --network lenet --batch 4 --data folder:flowers ";
  const CommandResult noted = run(arguments + "--steps 2 --threads 1");
  EXPECT_EQ(noted.exit_code, 0) << noted.err;
  EXPECT_NE(noted.err.find("4 of 40 images are held out"), std::string::npos) << noted.err;
  expect_resumes(arguments + "--checkpoint-every 2 ");
  expect_resumes(arguments + "--checkpoint-every 2 --preprocess inception ");
  const Json bsp = object_from(arguments + "--steps 4 --workers 2 --mode bsp");
  EXPECT_GE(bsp["test_accuracy"].get<double>(), 0);
  fs::rename(work() / "flowers", work() / "moved");
  fs::create_directories(work() / "flowers");
  fs::rename(work() / "moved", work() / "flowers" / "train");
  make_image_folder(work() / "flowers" / "test", 2);
  EXPECT_EQ(run(arguments + "--steps 2 --threads 1").err.find("held out"), std::string::npos);
  expect_failure(arguments + "--preprocess next-token", 1, "'next-token' takes tokens");
  std::ofstream(work() / "flowers" / "train" / "rose" / "0.png") << "no image";
  expect_failure(arguments + "--quiet --threads 1 --epochs 3", 1, "rose/0.png': 8 bytes that begin neither");
}

TEST_F(DataSourcesTest, ATextIsReadByNetworksOnSequences) {
  write_text();
  const std::string arguments = std::string(kRnn) + "--data text:text ";
  const Json run_ = object_from(arguments + "--optimizer adam --lr 0.01 --epochs 4");
  EXPECT_EQ(run_["asked"]["vocabulary"], 256);
  EXPECT_NEAR(run_["first_loss"].get<double>(), std::log(256.0), 0.3);
  EXPECT_LT(run_["test_loss"].get<double>(), 2.5);
  const CommandResult shown = run(arguments + "--steps 2 --threads 1");
  EXPECT_NE(shown.out.find(" nats a token: perplexity "), std::string::npos) << shown.out;
  expect_resumes(arguments + "--checkpoint-every 2 ");
  const Json bsp = object_from(arguments + "--steps 4 --workers 2 --mode bsp --scaling strong"),
             alone = object_from(arguments + "--steps 4");
  EXPECT_NEAR(bsp["final_loss"].get<double>(), alone["final_loss"].get<double>(), 1e-4);
  EXPECT_NEAR(bsp["test_loss"].get<double>(), alone["test_loss"].get<double>(), 1e-4);
  expect_failure(arguments + "--vocabulary 100", 1, "--vocabulary 100 is too small: 'text' has byte");
}

TEST_F(DataSourcesTest, AFolderIsStaged) {
  make_image_folder(work() / "flowers", 60);
  std::ofstream(work() / "flowers" / "rose" / "notes.txt") << "no image";
  const std::string arguments = "train --network lenet --batch 4 --data folder:flowers/";
  const Json staged = expect_stages(arguments);
  EXPECT_EQ(staged["staging_file_count"], 120);
  EXPECT_FALSE(staged.contains("staging_files"));  // too many for a record
  const CommandResult noted = run(arguments + " --steps 2 --threads 1 --staging local --staging-folder .");
  EXPECT_NE(noted.err.find("12 of 120 images are held out for evaluation; 1 files that are"),
            std::string::npos)
      << noted.err;
  // A run that was staged goes on in place.
  object_from(arguments + " --steps 3 --staging local --staging-folder . --out cut");
  EXPECT_EQ(object_from(arguments + " --steps 5 --out cut --resume")["final_step"], 5);
  const Json workers =
      object_from(arguments + " --steps 3 --workers 2 --mode bsp --staging local --staging-folder target");
  EXPECT_EQ(workers["staging_file_count"], 120);
  EXPECT_TRUE(fs::is_empty(work() / "target"));
}

TEST_F(DataSourcesTest, RecordFilesAreStaged) {
  make_image_folder(work() / "flowers", 20);
  ASSERT_EQ(run("data pack flowers --to records --shards 2").exit_code, 0);
  const Json staged = expect_stages("train --network lenet --batch 4 --data tfrecord:records");
  EXPECT_EQ(staged["staging_file_count"], 3);
  std::set<std::string> names;
  for (const Json& file : staged["staging_files"]) names.insert(file["name"].get<std::string>());
  EXPECT_EQ(names, (std::set<std::string>{"flowers-train-00000-of-00002.tfrecord",
                                          "flowers-train-00001-of-00002.tfrecord", "labels.txt"}));
  const std::string shard = " --data tfrecord:records/flowers-train-00000-of-00002.tfrecord";
  EXPECT_EQ(expect_stages("train --network lenet --batch 4" + shard)["staging_file_count"], 1);
}

TEST_F(DataSourcesTest, ATextIsStaged) {
  write_text();
  const Json staged = expect_stages(std::string(kRnn) + "--data text:text");
  EXPECT_EQ(staged["staging_bytes"], fs::file_size(work() / "text"));
  EXPECT_EQ(staged["staging_files"][0]["name"], "text");
}

TEST_F(DataSourcesTest, WithoutATextSequencesAreMadeUp) {
  const Json run_ = object_from(std::string(kRnn) + "--vocabulary 16 --optimizer adam --lr 0.01 --steps 200");
  EXPECT_LT(run_["test_loss"].get<double>(), 0.8 * std::log(16.0));
  EXPECT_GT(run_["test_accuracy"].get<double>(), 0.4);
}

TEST_F(DataSourcesTest, Mistakes) {
  write_text();
  expect_failure("train --network rnn --data mnist", 1,
                 "network 'rnn' reads sequences, and data set 'mnist' has decoded images");
  expect_failure("train --network lenet --data text:text", 1, "network 'lenet' reads images");
  expect_failure("train --network lenet --data folder:none", 1, "'none' is not a folder");
  expect_failure("train --network lenet --data tfrecord:none", 1, "'none': no folder of record files");
  expect_failure("train --network rnn --data text:none", 1, "'none' is not a file");
  expect_failure("train --network lenet --data folder:", 1, "folder:DIR expected");
  expect_failure("train --network lenet --data folder:. --read mmap", 1, "is always read where it lies");
  make_image_folder(work() / "flowers");
  fs::create_directories(work() / "flowers" / "tulip");
  expect_failure("train --network lenet --data folder:flowers", 1, "tulip': no JPEG or PNG in this class");
  fs::remove(work() / "flowers" / "tulip");
  fs::create_directories(work() / "one" / "rose");
  fs::copy_file(work() / "flowers" / "rose" / "0.png", work() / "one" / "rose" / "0.png");
  expect_failure("train --quiet --network lenet --batch 1 --steps 1 --data folder:one", 1,
                 "data set 'folder:one' has no test images: give --no-eval");
  fs::create_symlink("nowhere", work() / "one" / "rose" / "link.png");
  expect_failure("train --quiet --network lenet --batch 1 --steps 4 --data folder:one", 2,
                 "one/rose/link.png' cannot be read: No such file");
  ASSERT_EQ(run("data pack flowers --to records --shards 1").exit_code, 0);
  const fs::path shard = work() / "records" / "flowers-train-00000-of-00001.tfrecord";
  ASSERT_TRUE(fs::exists(shard));
  fs::resize_file(shard, fs::file_size(shard) - 7);
  expect_failure("train --network lenet --data tfrecord:records", 1,
                 "flowers-train-00000-of-00001.tfrecord'");
}

}  // namespace
}  // namespace trainyard::cli_test
