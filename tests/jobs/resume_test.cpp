// Runs of several processes that end before their time, and go on as if they had not.

#include <csignal>
#include <random>
#include <thread>

#include <fmt/core.h>

#include "base/json.h"
#include "engine/checkpoint.h"
#include "jobs/job_fixture.h"

namespace trainyard::jobs_test {
namespace {

constexpr const char* kJob =
    "--network lenet --batch 8 --workers 2 --servers 2 --mode bsp --optimizer adam --threads 2 "
    "--checkpoint-every 2 --lease 30 --patience 120 ";

class JobResumeTest : public JobTest {
 protected:
  void expect_same(const std::string& a, const std::string& b) const {
    EXPECT_EQ(saved_step(a), saved_step(b));
    EXPECT_FALSE(tensors(b).empty());
    EXPECT_TRUE(tensors(a) == tensors(b)) << largest_difference(tensors(a), tensors(b));
  }
};

TEST_F(JobResumeTest, TwoPartsAreTheWhole) {
  const std::string job = std::string(kJob) + "--no-eval ";
  record_of(job + "--steps 10 --out whole");
  record_of(job + "--steps 5 --out parts");
  const Json rest = record_of(job + "--steps 10 --out parts --resume");
  EXPECT_EQ(rest["resumed_from"], "parts/step-00000005");
  EXPECT_EQ(gradients(rest), 10);
  expect_same("parts", "whole");
  EXPECT_EQ(gradients(record_of(job + "--steps 10 --out parts --resume")), 0) << "there is nothing to do";
  expect_failure(train(job + "--steps 9 --out parts --resume"), 1, "is beyond the 9 steps asked for");
}

TEST_F(JobResumeTest, AJobThatIsQueuedAgainBeginsOrGoesOn) {
  const std::string job = std::string(kJob) + "--no-eval --out queued ";
  expect_failure(train(job + "--steps 3 --resume"), 1, "no checkpoint in 'queued'");
  EXPECT_TRUE(record_of(job + "--steps 3 --resume=auto")["resumed_from"].is_null());
  EXPECT_EQ(record_of(job + "--steps 5 --resume=auto")["resumed_from"], "queued/step-00000003");
}

// By Ctrl-C, and by kill -9 of all of them.
TEST_F(JobResumeTest, InterruptedAndKilled) {
  const std::string job = std::string(kJob) + "--no-eval --steps 60 ";
  record_of(job + "--out whole");
  {
    cli_test::Command command = start(job + "--out parts");
    wait_for_step("parts", 2, command);
    command.signal(SIGINT);
    const cli_test::CommandResult result = command.wait();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    const Json record = parse_json(result.out);
    EXPECT_EQ(record["status"], "interrupted");
    EXPECT_EQ(record["final_step"], saved_step("parts"));
    EXPECT_TRUE(gone(processes("parts")));
  }
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (int kill = 0; kill < 2 && saved_step("parts") < 50; ++kill) {
    cli_test::Command command = start(job + "--out parts --resume");
    wait_for_step("parts", saved_step("parts") + 2, command);
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution(0, 100)(random)));
    // When all processes are killed, none is left to remove these files.
    const std::filesystem::path kept[] = {state_file(process("parts", "server-0")),
                                          state_file(process("parts", "server-1"))};
    // This kills only processes of this part: other processes may have the ids of earlier parts by now.
    for (const char* member : {"worker-0", "worker-1", "server-0", "server-1"})
      ::kill(process("parts", member), SIGKILL);
    command.signal(SIGKILL);
    command.wait();
    std::error_code ignored;
    for (const auto& file : kept) std::filesystem::remove(file, ignored);
  }
  const Json rest = record_of(job + "--out parts --resume");
  EXPECT_EQ(rest["final_step"], 60);
  expect_same("parts", "whole");
}

// The seed's servers saved half a model each, which nothing could load.
TEST_F(JobResumeTest, SeedBugHalfCheckpoints) {
  const Json trained = record_of(
      "--data synthetic --network resnet20 --batch 2 --workers 2 --servers 3 --mode bsp "
      "--optimizer momentum --steps 3 --lease 30 --patience 120 --out run");
  EXPECT_EQ(trained["exchange"]["servers"].size(), 3u);
  // A worker that a busy machine held up long enough to be given up leaves one more step than three.
  const std::int64_t step = saved_step("run");
  ASSERT_GE(step, 3);
  // Two devices in one process take it up as their own, and find the same accuracy.
  const Json loaded = record_of(fmt::format(
      "--data synthetic --network resnet20 --batch 2 --devices 2 --strategy allreduce --scaling weak "
      "--optimizer momentum --steps {} --out run --resume",
      step));
  EXPECT_EQ(loaded["resumed_from"], fmt::format("run/step-{:08}", step));
  EXPECT_EQ(loaded["test_accuracy"], trained["test_accuracy"]);
}

}  // namespace
}  // namespace trainyard::jobs_test
