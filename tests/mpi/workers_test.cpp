// Workers that are processes: the same weights as threads, ended together, resumed together.

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/cores.h"
#include "base/file.h"
#include "cli/cli_fixture.h"
#include "cli/process_tree.h"
#include "engine/checkpoint.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kTrain = "train --network lenet --batch 4 --no-eval --checkpoint-every 3 --json ";
const std::string kTwo = kTrain + "--workers 2 --collective mpi ";

class WorkersTest : public CliTest {
 protected:
  Json object_from(const std::string& arguments) const {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << ": " << result.err;
    return Json::parse(result.out, nullptr, false);
  }

  std::vector<std::byte> final_tensors(const std::string& folder) const {
    const auto latest = engine::latest_checkpoint(work() / folder);
    return latest ? read_file(*latest / "tensors.bin") : std::vector<std::byte>{};
  }

  void wait_for_checkpoint(Command& command, const std::string& folder) const {
    while (command.running() && !engine::latest_checkpoint(work() / folder))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  static pid_t mpirun_of(const Command& command) { return children_of(command.pid()).at(0); }
};

TEST_F(WorkersTest, ComputeWhatThreadsCompute) {
  if (process_cores().size() < 2) GTEST_SKIP() << "two devices want two cores";
  const Json threads =
      object_from(kTrain + "--steps 6 --devices 2 --strategy allreduce --scaling weak --out threads");
  const Json local = object_from(kTrain + "--steps 6 --workers 2 --collective local --out local");
  const Json processes = object_from(kTwo + "--steps 6 --out processes");
  EXPECT_EQ(final_tensors("threads"), final_tensors("processes"));
  EXPECT_EQ(final_tensors("threads"), final_tensors("local"));
  EXPECT_NEAR(processes["first_loss"].get<double>(), threads["first_loss"].get<double>(), 1e-6);
  EXPECT_NEAR(processes["final_loss"].get<double>(), threads["final_loss"].get<double>(), 1e-6);
  EXPECT_EQ(processes["collective"], "mpi");
  EXPECT_EQ(processes["ranks"], 2);
  EXPECT_EQ(local["collective"], "local");
  EXPECT_EQ(local["ranks"], 1);
  for (const Json& each : {threads, local, processes}) {
    EXPECT_EQ(each["strategy"], "allreduce");
    EXPECT_EQ(each["devices"], 2);
    EXPECT_EQ(each["images_consumed"], 6 * 2 * 4);
    EXPECT_EQ(each["cores_allowed"], each["threads"]);
  }
}

TEST_F(WorkersTest, WhatWasNotEvaluatedIsNotPrinted) {
  const CommandResult result =
      run("train --network lenet --batch 4 --no-eval --steps 2 --workers 2 --collective mpi");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("at last"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("test accuracy"), std::string::npos) << result.out;
}

TEST_F(WorkersTest, ThreeEqualOneBigBatch) {
  const Json big = object_from("train --network lenet --batch 12 --no-eval --json --steps 6");
  const Json split = object_from(kTrain + "--workers 3 --collective mpi --steps 6");
  EXPECT_EQ(split["images_consumed"], 6 * 12);
  EXPECT_NEAR(split["first_loss"].get<double>(), big["first_loss"].get<double>(), 1e-5);
  EXPECT_NEAR(split["final_loss"].get<double>(), big["final_loss"].get<double>(), 1e-5);
}

TEST_F(WorkersTest, TakePartWhereMpirunStartedThem) {
  std::vector<std::string> command = trainyard(kTwo + "--steps 4 --out run");
  const std::string mpirun = TRAINYARD_MPIRUN;
  for (const char* word : {"none", "--bind-to", "2", "-n"}) command.insert(command.begin(), word);
  command.insert(command.begin(), mpirun);
  CommandOptions told = options();  // what `train` tells mpirun by itself
  told.environment["OMPI_ALLOW_RUN_AS_ROOT"] = told.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  told.environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1";
  const CommandResult result = cli_test::run(command, told);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["ranks"], 2);
  command[2] = "3";
  const CommandResult wrong = cli_test::run(command, told);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.err.find("--workers 2: this job has 3"), std::string::npos) << wrong.err;
}

TEST_F(WorkersTest, InterruptedTogetherAndResumedBitIdentical) {
  enum class Whom { train, mpirun, rank };
  std::int64_t step = 0;
  for (const Whom whom : {Whom::train, Whom::mpirun, Whom::rank}) {
    const std::string folder = fmt::format("cut-{}", static_cast<int>(whom));
    SCOPED_TRACE(folder);
    Command command(trainyard(kTwo + "--steps 1000000 --out " + folder), options());
    wait_for_checkpoint(command, folder);
    ASSERT_TRUE(command.running()) << command.wait().err;
    const pid_t mpirun = mpirun_of(command);
    ::kill(whom == Whom::train    ? command.pid()
           : whom == Whom::mpirun ? mpirun
                                  : children_of(mpirun).back(),
           SIGTERM);
    const CommandResult result = command.wait();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    const Json report = Json::parse(result.out);
    EXPECT_EQ(report["status"], "interrupted");
    step = report["final_step"].get<std::int64_t>();
    EXPECT_TRUE(fs::exists(work() / folder / fmt::format("step-{:08}", step)));
  }
  object_from(fmt::format("{}--steps {} --out cut-2 --resume", kTwo, step + 4));
  object_from(fmt::format("{}--steps {} --out whole", kTwo, step + 4));
  EXPECT_EQ(final_tensors("cut-2"), final_tensors("whole"));
}

TEST_F(WorkersTest, AKilledWorkerEndsTheRun) {
  for (const bool first : {true, false}) {
    SCOPED_TRACE(first);
    const std::string folder = first ? "first" : "last";
    Command command(trainyard(kTwo + "--steps 1000000 --out " + folder), options());
    wait_for_checkpoint(command, folder);
    const std::vector<pid_t> ranks = children_of(mpirun_of(command));
    const auto began = std::chrono::steady_clock::now();
    ::kill(first ? ranks.front() : ranks.back(), SIGKILL);
    expect_failed(command.wait(), 2, fmt::format("worker {} was ended by signal 9", first ? 0 : 1));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
    EXPECT_FALSE(fs::exists(work() / folder / "record.json"));
    for (const auto& entry : fs::directory_iterator(work() / folder)) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(name.starts_with("step-") || name.starts_with("events.") || name == "logs") << name;
    }
  }
}

TEST_F(WorkersTest, MistakesAreOneLine) {
  expect_failure(kTwo + "--steps 50 --lr 1e30 --weight-decay 1", 2, "loss became");
  expect_failure(kTwo + "--steps 5 --devices 2", 1, "--devices");
  expect_failure("train --workers 2 --network nosuch", 1, "nosuch");
  expect_failure(kTrain + "--steps 5 --workers 0 --collective mpi", 1, "--collective mpi wants --workers");
  expect_failure(kTrain + "--steps 5 --workers 2 --collective nccl", 1, "wants GPUs");
  expect_failure(kTrain + "--steps 5 --workers 2 --collective mpo", 1, "did you mean 'mpi'");
  expect_failure(kTrain + "--steps 5 --workers 2 --mode bps", 1, "--mode 'bps'");
  expect_failure(kTrain + "--steps 5 --workers 2 --mode ssp:N", 1, "ssp:N with N >= 0");
  expect_failure(kTwo + "--steps 5 --threads 3", 1, "cannot be shared equally by 2");
}

}  // namespace
}  // namespace trainyard::cli_test
