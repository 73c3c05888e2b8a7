// Commands that are asked to stop keep what they have, as `train` does (resume_test).

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include <fmt/core.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/made_up_runs.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

class InterruptTest : public CliTest {
 protected:
  // Signals the command while `is_under_way` says so, or after some time.
  CommandResult interrupt(const std::string& arguments, int signal,
                          const std::function<bool()>& is_under_way) const {
    Command command(trainyard(arguments), options());
    while (command.running() && !is_under_way()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    command.signal(signal);
    return command.wait();
  }
  static std::function<bool()> after(double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    return [end] { return std::chrono::steady_clock::now() > end; };
  }
  // The time until a command begins differs by machine and load: the test interrupts later and later, until
  // the command had begun.
  CommandResult interrupt_when(const std::string& arguments, int signal,
                               const std::function<bool(const CommandResult&)>& had_begun) const {
    CommandResult result;
    constexpr double kLast = 30;
    for (double seconds = 1; seconds < kLast; seconds *= 1.3) {
      result = interrupt(arguments, signal, after(seconds));
      if (result.exit_code == 128 + signal && result.err.empty()) continue;  // it did not listen yet
      EXPECT_EQ(result.exit_code, 130) << result.err;
      EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      if (result.exit_code != 130 || had_begun(result)) break;
    }
    return result;
  }
};

TEST_F(InterruptTest, BenchRecordsTheStepsThatItTimed) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const CommandResult result = interrupt_when(
        "bench --network lenet --batch 4 --steps 100000000 --no-peak --ops --json --trace t.json --record "
        "r.json",
        signal, [](const CommandResult& ended) {
          const Json json = parse_json_or_discard(ended.out);
          return json.is_object() && !json["raw_step_seconds"].empty();
        });
    const Json json = parse_json(result.out);
    EXPECT_EQ(json["status"], "interrupted");
    EXPECT_EQ(json["stopped_by"], "signal");
    EXPECT_GT(json["images_per_second"], 0);
    EXPECT_EQ(json["reason"],
              fmt::format("interrupted after {} of 100000000 timed steps", json["raw_step_seconds"].size()));
    EXPECT_EQ(read_json(work() / "r.json"), json) << "the record says the same";
    EXPECT_FALSE(fs::exists(work() / "t.json"));
    fs::remove(work() / "r.json");
  }
}

TEST_F(InterruptTest, ExplainShowsTheKernelsThatItTimed) {
  const auto timed = [](const CommandResult& ended) {
    Json json = parse_json_or_discard(ended.out);
    int count = 0;
    if (!json.is_object()) return count;
    for (const Json& step : json["steps"]) count += step["seconds"].is_number() ? 1 : 0;
    return count;
  };
  // A step of seconds on any core: neither one kernel nor all are timed soon.
  const CommandResult result =
      interrupt_when("explain fc --layers 48 --width 512 --batch 2048 --threads 1 --time --json", SIGINT,
                     [&](const CommandResult& ended) { return timed(ended) > 0; });
  EXPECT_TRUE(parse_json(result.out)["interrupted"].get<bool>());
  EXPECT_NE(result.err.find(fmt::format("{} of", timed(result))), std::string::npos) << result.err;
}

TEST_F(InterruptTest, PackKeepsWholeShardsAndGoesOn) {
  const std::string pack = "data pack synthetic --images 20000 --shards 200 --pixels 48 --quiet --to ";
  const auto shard = [&](const char* folder, int number) {
    return work() / folder / fmt::format("photos-train-{:05}-of-00200.tfrecord", number);
  };
  const CommandResult result = interrupt(pack + "cut", SIGTERM, [&] { return fs::exists(shard("cut", 1)); });
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_NE(result.err.find("of 200 shards of photos-train are complete in 'cut'"), std::string::npos)
      << result.err;
  for (const auto& entry : fs::directory_iterator(work() / "cut"))
    EXPECT_EQ(entry.path().extension(), ".tfrecord") << "half of a shard is left";
  const CommandResult info = run("data info cut --verify");
  EXPECT_EQ(info.exit_code, 1);
  EXPECT_NE(info.out.find("0 damaged records"), std::string::npos) << info.out;
  EXPECT_NE(info.out.find("missing: "), std::string::npos) << info.out;
  expect_failure(pack + "cut", 1, "is already there");
  ASSERT_EQ(run(pack + "cut --resume").exit_code, 0);
  ASSERT_EQ(run(pack + "whole").exit_code, 0);
  for (int number = 0; number < 200; ++number)
    EXPECT_EQ(read_file(shard("cut", number)), read_file(shard("whole", number))) << number;
}

TEST_F(InterruptTest, FitKeepsTheBestModelOrGoesOn) {
  std::ofstream(work() / "runs.csv") << made_up_runs();
  const std::string fit =
      "predict fit runs.csv --kind gnn --groups 6 --epochs 1000000 --patience 1000000 --quiet -o ";
  const CommandResult result = interrupt_when(
      fit + "best.model", SIGINT, [&](const CommandResult&) { return fs::exists(work() / "best.model"); });
  EXPECT_NE(result.err.find("the best model so far, of epoch "), std::string::npos) << result.err;
  EXPECT_EQ(run("predict run --model best.model --network lenet --device GTX1080").exit_code, 0);

  const CommandResult resumable =
      interrupt_when(fit + "later.model --checkpoints kept", SIGTERM,
                     [&](const CommandResult&) { return fs::exists(work() / "kept"); });
  EXPECT_NE(resumable.err.find("the same command goes on from there"), std::string::npos) << resumable.err;
  EXPECT_FALSE(fs::exists(work() / "later.model"));
}

TEST_F(InterruptTest, DemandShowsTheRowsThatItHas) {
  ASSERT_EQ(run("data pack synthetic --images 40 --classes 5 --pixels 32 --to photos --quiet").exit_code, 0);
  std::ofstream(work() / "two.yaml") << "name: two\ndata: photos\npreprocess: {name: inception, size: 32}\n"
                                        "design: shared-memory\nepochs: 1\nmembers:\n"
                                        "  - {network: lenet, batch: 16, lr: 0.01, seed: 1}\n"
                                        "  - {network: lenet, batch: 8, lr: 0.01, seed: 2}\n";
  const CommandResult result = interrupt_when(
      "ensemble demand two.yaml --seconds 1.5 --supply-cores 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1 --json", SIGINT,
      [](const CommandResult& ended) {
        const Json json = parse_json_or_discard(ended.out);
        return json.is_object() && !json["supply"].empty();
      });
  const Json json = parse_json(result.out);
  EXPECT_TRUE(json["interrupted"].get<bool>());
  EXPECT_LT(json["supply"].size(), 15u);
  EXPECT_TRUE(json["demand"].empty());
}

}  // namespace
}  // namespace trainyard::cli_test
