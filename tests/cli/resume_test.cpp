// Runs that are interrupted, killed, damaged or out of space.

#include <chrono>
#include <csignal>
#include <cstring>
#include <random>
#include <thread>

#include <fmt/core.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/small_disk.h"
#include "engine/checkpoint.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

class ResumeTest : public CliTest {
 protected:
  // No hidden and no half-written thing.
  void expect_clean(const fs::path& folder) const {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(name.starts_with("step-") || name.starts_with("events.") || name == "record.json") << name;
    }
  }

  std::vector<std::byte> final_tensors(const std::string& folder) const {
    const auto latest = engine::latest_checkpoint(work() / folder);
    return latest ? read_file(*latest / "tensors.bin") : std::vector<std::byte>{};
  }

  // Kills the run three times at random moments, goes on each time, and wants the weights of a run in peace.
  void expect_same_weights_when_killed(const std::string& arguments) const {
    const auto began = Clock::now();
    ASSERT_EQ(run(arguments + " --out whole").exit_code, 0);
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    for (int kill = 0; kill < 3; ++kill) {
      const double delay = seconds * std::uniform_real_distribution(0.1, 0.9)(random);
      SCOPED_TRACE(fmt::format("kill {} after {:.3f} s", kill, delay));
      const bool resume = engine::latest_checkpoint(work() / "cut").has_value();
      Command command(trainyard(arguments + " --out cut" + (resume ? " --resume" : "")), options());
      std::this_thread::sleep_for(std::chrono::duration<double>(delay));
      command.signal(SIGKILL);
      const CommandResult result = command.wait();
      EXPECT_TRUE(result.exit_code == 128 + SIGKILL || result.exit_code == 0) << result.err;
    }
    const bool resume = engine::latest_checkpoint(work() / "cut").has_value();
    const CommandResult result = run(arguments + " --out cut" + (resume ? " --resume" : ""));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_FALSE(final_tensors("whole").empty());
    EXPECT_EQ(final_tensors("cut"), final_tensors("whole"));
    expect_clean(work() / "cut");
  }
};

TEST_F(ResumeTest, KilledWithDropoutAndAdam) {
  expect_same_weights_when_killed(
      "train --network deepmnist --batch 16 --steps 24 --checkpoint-every 4 --optimizer adam --no-eval "
      "--quiet");
}

TEST_F(ResumeTest, KilledWithBatchNormAndMomentum) {
  expect_same_weights_when_killed(
      "train --network resnet20 --batch 8 --steps 16 --checkpoint-every 3 --optimizer momentum --ema 0.9 "
      "--no-eval --quiet");
}

TEST_F(ResumeTest, InterruptedRunSavesAndGoesOn) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string arguments = fmt::format(
        "train --network lenet --batch 4 --checkpoint-every 3 --no-eval --json --out run{}", signal);
    const fs::path out = work() / fmt::format("run{}", signal);
    Command command(trainyard(arguments + " --steps 1000000"), options());
    while (command.running() && !engine::latest_checkpoint(out))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    command.signal(signal);
    const CommandResult result = command.wait();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_NE(result.err.find("--resume goes on"), std::string::npos) << result.err;
    const auto report = parse_json(result.out);
    EXPECT_EQ(report["status"], "interrupted");
    const auto step = report["final_step"].get<std::int64_t>();
    ASSERT_TRUE(engine::latest_checkpoint(out).has_value());
    EXPECT_EQ(engine::latest_checkpoint(out)->filename(), fmt::format("step-{:08}", step));
    expect_clean(out);
    const CommandResult rest = run(fmt::format("{} --steps {} --resume", arguments, step + 2));
    EXPECT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_EQ(parse_json(rest.out)["final_step"], step + 2);
  }
}

TEST_F(ResumeTest, AJobThatIsQueuedAgainBeginsOrGoesOn) {
  const std::string arguments = "train --network lenet --batch 4 --no-eval --quiet --json ";
  for (const std::string where :
       {"--out one", "--devices 2 --strategy independent --scaling weak --out two"}) {
    SCOPED_TRACE(where);
    expect_failure(arguments + where + " --steps 3 --resume", 1, "--resume=auto would begin then");
    EXPECT_FALSE(fs::exists(work() / "one"));
    const auto images = [&](const std::string& more) {
      const CommandResult result = run(arguments + where + more);
      EXPECT_EQ(result.exit_code, 0) << result.err;
      return parse_json(result.out)["images_consumed"];
    };
    const int devices = where == "--out one" ? 1 : 2;
    EXPECT_EQ(images(" --steps 3 --resume=auto"), 3 * 4 * devices);
    EXPECT_EQ(images(" --steps 5 --resume=auto"), 2 * 4 * devices) << "only what is left";
    fs::remove_all(work() / "one");
  }
  expect_failure("train --network lenet --out x --resume=never", 1, "'never' given");
}

TEST_F(ResumeTest, DamagedCheckpointIsRefusedByName) {
  const std::string arguments = "train --network lenet --batch 4 --no-eval --quiet --out run --steps ";
  ASSERT_EQ(run(arguments + "2").exit_code, 0);
  const fs::path checkpoint = work() / "run" / "step-00000002";
  const auto damaged = [&](const char* file, const auto& damage, const std::string& part) {
    fs::copy(checkpoint, work() / "good", fs::copy_options::recursive);
    std::vector<std::byte> bytes = read_file(checkpoint / file);
    damage(bytes);
    std::ofstream(checkpoint / file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    expect_failure(arguments + "4 --resume", 1, part);
    fs::remove_all(checkpoint);
    fs::rename(work() / "good", checkpoint);
  };
  const auto flip = [](std::vector<std::byte>& bytes) { bytes[bytes.size() / 2] ^= std::byte{4}; };
  const auto cut = [](std::vector<std::byte>& bytes) { bytes.resize(bytes.size() / 2); };
  damaged("tensors.bin", flip, "run/step-00000002/tensors.bin' is damaged: checksum mismatch");
  damaged("tensors.bin", cut, "run/step-00000002/tensors.bin' is truncated");
  damaged("manifest.json", flip, "run/step-00000002/manifest.json' is damaged");
  damaged("manifest.json", cut, "run/step-00000002/manifest.json' is damaged");
  expect_failure("train --network lenet --batch 8 --quiet --out run --steps 4 --resume", 1,
                 "batch 4 there, 8 asked");
  expect_failure(arguments + "4", 1, "give --resume, --overwrite or another folder");
  EXPECT_EQ(run(arguments + "4 --resume").exit_code, 0);
  EXPECT_EQ(run(arguments + "1 --overwrite").exit_code, 0);
  EXPECT_EQ(engine::list_checkpoints(work() / "run").size(), 1u);
}

TEST_F(ResumeTest, FullDisk) {
  const fs::path folder = work() / "disk";
  const SmallDisk disk(folder, "size=16m");
  if (disk.error() != 0) GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(disk.error());
  // Checkpoints of 6.3 MiB: two fit, the third does not.
  const std::string arguments = "train --network lenet --batch 4 --no-eval --quiet --out disk/run --steps ";
  expect_failure(arguments + "9 --checkpoint-every 2", 2, "No space left on device");
  EXPECT_EQ(engine::list_checkpoints(folder / "run").size(), 2u);
  expect_clean(folder / "run");
  EXPECT_EQ(engine::latest_checkpoint(folder / "run")->filename(), "step-00000004");
  const CommandResult result = run(arguments + "4 --resume");
  EXPECT_EQ(result.exit_code, 0) << "the earlier checkpoint is whole: " << result.err;
}

}  // namespace
}  // namespace trainyard::cli_test
