// Tests of where the data of a run lies and when it is read: losses are the same everywhere, and no file is
// left behind.

#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include <fmt/core.h>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/small_disk.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

constexpr int kImages = 120;

class InputTest : public CliTest {
 protected:
  InputTest() {
    fs::create_directories(source());
    std::string images = std::string("\0\0\x08\x03\0\0\0\x78\0\0\0\x1c\0\0\0\x1c", 16);
    std::string labels = std::string("\0\0\x08\x01\0\0\0\x78", 8);
    for (int i = 0; i < kImages; ++i) {
      labels += static_cast<char>(i % 10);
      for (int pixel = 0; pixel < 784; ++pixel)
        images += static_cast<char>(pixel * (i % 10 + 1) % 251 + i % 3);
    }
    for (const char* split : {"train", "t10k"}) {
      std::ofstream(source() / (split + std::string("-images-idx3-ubyte")), std::ios::binary) << images;
      std::ofstream(source() / (split + std::string("-labels-idx1-ubyte")), std::ios::binary) << labels;
    }
    fs::create_directories(target());
  }

  fs::path source() const { return work() / "mnist"; }
  fs::path target() const { return work() / "local"; }

  static std::string command(const std::string& more, int steps = 12) {
    return fmt::format(
        "train --network lenet --data mnist --from mnist --batch 16 --steps {} --json --quiet {}", steps,
        more);
  }

  Json object_from(const std::string& arguments) const {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? parse_json(result.out) : Json::object();
  }
};

TEST_F(InputTest, EveryWayGivesTheSameLosses) {
  const Json plain = object_from(command(""));
  EXPECT_EQ(plain["read"], "memory");
  EXPECT_EQ(plain["staging"], "in-place");
  EXPECT_FALSE(plain.contains("staging_bytes"));
  const std::string local = "--staging local --staging-folder local";
  for (const std::string& more :
       {std::string("--read mmap"), std::string("--read stream"), local, local + " --read mmap",
        local + " --read stream", std::string("--staging memory --read stream")}) {
    SCOPED_TRACE(more);
    if (more.find("memory") != std::string::npos && !fs::is_directory("/dev/shm")) continue;
    const Json other = object_from(command(more));
    for (const char* key : {"first_loss", "final_loss", "test_accuracy"})
      EXPECT_EQ(other[key], plain[key]) << key;
    EXPECT_GT(other["load_seconds"].get<double>(), 0);
    if (other["read"] == "stream") {
      EXPECT_GE(other["bytes_read"].get<int>(), 12 * 16 * 784);
      EXPECT_GT(other["read_seconds"].get<double>(), 0);
    }
    if (other["staging"] == "in-place") continue;
    EXPECT_EQ(other["staging_bytes"], 2 * (16 + kImages * 784 + 8 + kImages));
    EXPECT_GT(other["staging_seconds"].get<double>(), 0);
    EXPECT_EQ(other["staging_files"].size(), 4u);
    EXPECT_TRUE(fs::is_empty(target()));
  }
}

TEST_F(InputTest, StagingIsShownInTheTable) {
  const CommandResult result =
      run("train --network lenet --data mnist --from mnist --batch 16 --steps 2 --no-eval --read stream "
          "--staging local --staging-folder local");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("batch by batch"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("staged "), std::string::npos) << result.out;
}

TEST_F(InputTest, TheLocalDiskIsFoundByTheEnvironment) {
  CommandOptions cluster = options();
  cluster.environment["SLURM_TMPDIR"] = target();
  const CommandResult result = cli_test::run(trainyard(command("--staging local")), cluster);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(parse_json(result.out)["staging_folder"], target().string());
}

TEST_F(InputTest, Mistakes) {
  expect_failure(command("--read map"), 1, "--read 'map' (did you mean 'mmap'?)");
  expect_failure(command("--staging locale"), 1, "did you mean 'local'");
  expect_failure(command("--staging-folder local"), 1, "wants --staging local or memory");
  expect_failure(command("--staging local --staging-folder none"), 1, "'none' is not a folder");
  expect_failure(command("--staging memory --staging-folder /proc"), 1, "'/proc' is not in memory");
  const std::string synthetic = "train --network lenet --data synthetic --steps 1 ";
  expect_failure(synthetic + "--read stream", 1, "has no files");
  expect_failure(synthetic + "--staging local", 1, "has no files");
}

TEST_F(InputTest, DamagedMissingAndCompressedFiles) {
  const std::string cached =
      "train --network lenet --data mnist --steps 2 --staging local --staging-folder " + target().string();
  ASSERT_EQ(run("data get mnist --from mnist").exit_code, 0);
  ASSERT_EQ(run(cached).exit_code, 0);
  const fs::path images = cache() / "mnist" / "train-images-idx3-ubyte";
  std::fstream(images, std::ios::binary | std::ios::in | std::ios::out).seekp(5000).put('\x55');
  expect_failure(cached, 1, "train-images-idx3-ubyte' is damaged: SHA-256");
  fs::remove(images);
  expect_failure(cached, 1, "no 'train-images-idx3-ubyte'");
  std::ofstream(images.string() + ".gz") << "\x1f\x8b and so on";
  for (const std::string mode : {"mmap", "stream"})
    expect_failure("train --network lenet --data mnist --steps 2 --read " + mode, 1,
                   "--read " + mode + " wants plain files");
  EXPECT_TRUE(fs::is_empty(target()));
}

TEST_F(InputTest, FullTarget) {
  for (const auto& [limits, message] :
       {std::pair{"size=64k", "has 64.0 KiB free, data set 'mnist' needs"},
        std::pair{"size=1m,nr_inodes=4", "more files, data set 'mnist' needs"}}) {
    const SmallDisk disk(target(), limits);
    if (disk.error() != 0)
      GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(disk.error());
    expect_failure(command("--staging memory --staging-folder local"), 2, message);
    EXPECT_TRUE(fs::is_empty(target()));
  }
}

TEST_F(InputTest, InterruptedAndKilledRunsLeaveNothingForLong) {
  const std::string endless = command("--no-eval --staging local --staging-folder local", 1'000'000);
  const auto staged = [&] { return std::distance(fs::directory_iterator(target()), {}); };
  for (const int signal : {SIGINT, SIGHUP, SIGKILL}) {
    SCOPED_TRACE(signal);
    Command running(trainyard(endless), options());
    while (running.running() && staged() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    // Anywhere between the first byte staged and some steps done.
    std::this_thread::sleep_for(std::chrono::milliseconds(signal == SIGINT ? 0 : 300));
    ASSERT_TRUE(running.running());
    running.signal(signal);
    EXPECT_NE(running.wait().exit_code, 0);
    EXPECT_EQ(staged(), signal == SIGKILL ? 1 : 0);
  }
  EXPECT_EQ(run(command("--staging local --staging-folder local")).exit_code, 0);
  EXPECT_EQ(staged(), 0);
}

}  // namespace
}  // namespace trainyard::cli_test
