// Workers that are processes: the same weights as threads, ended together, resumed together.

#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>

#include <fmt/core.h>

#include "base/cores.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/process_tree.h"
#include "engine/checkpoint.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

const std::string kTrain = "train --network lenet --batch 4 --no-eval --json ";
const std::string kTwo = kTrain + "--workers 2 --collective mpi ";

class WorkersTest : public CliTest {
 protected:
  Json object_from(const std::string& arguments) const {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << ": " << result.err;
    return parse_json_or_discard(result.out);
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

TEST_F(WorkersTest, HaveANetworkThatIsAFile) {
  fs::create_directories(work() / "nets");
  ASSERT_EQ(run("networks export lenet --to nets/mine.onnx --weights initial").exit_code, 0);
  const std::string train = "train --network nets/mine.onnx --batch 4 --no-eval --json --steps 3 ";
  const Json processes = object_from(train + "--workers 2 --collective mpi --out processes"),
             threads = object_from(train + "--workers 2 --collective local --out threads");
  EXPECT_EQ(processes["ranks"], 2);
  EXPECT_EQ(final_tensors("processes"), final_tensors("threads"));
  if (process_cores().size() < 2) return;
  const Json towers = object_from(train + "--devices 2 --strategy towers-host --scaling weak");
  EXPECT_NEAR(towers["final_loss"].get<double>(), processes["final_loss"].get<double>(), 1e-4);
}

TEST_F(WorkersTest, ComputeWhatThreadsCompute) {
  if (process_cores().size() < 2) GTEST_SKIP() << "two devices want two cores";
  const Json threads = object_from(
      kTrain +
      "--steps 6 --devices 2 --strategy allreduce --scaling weak --checkpoint-every 3 --out threads");
  const Json local =
      object_from(kTrain + "--steps 6 --workers 2 --collective local --checkpoint-every 3 --out local");
  const Json processes = object_from(kTwo + "--steps 6 --checkpoint-every 3 --out processes");
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

TEST_F(WorkersTest, TransformersComputeWhatThreadsCompute) {
  if (process_cores().size() < 2) GTEST_SKIP() << "two devices want two cores";
  const std::string transformer =
      "train --network transformer --layers 2 --width 16 --heads 2 --length 12 --vocabulary 32 --data "
      "language:3 "
      "--batch 4 --steps 5 --optimizer adamw --clip-norm 1 --json --workers 2 --collective ";
  const Json threads = object_from(transformer + "local --out threads"),
             processes = object_from(transformer + "mpi --out processes");
  EXPECT_EQ(processes["ranks"], 2);
  EXPECT_EQ(processes["test_loss"], threads["test_loss"]);
  EXPECT_FALSE(final_tensors("threads").empty());
  EXPECT_EQ(final_tensors("threads"), final_tensors("processes"));
}

// A machine of its own is here a shell that calls itself so.
TEST_F(WorkersTest, AreOnTheMachinesThatHostsNames) {
  const auto write = [&](const char* name, const std::string& content) {
    std::ofstream(work() / name) << content;
  };
  write("shell", "#!/bin/sh\nSLURMD_NODENAME=$1\nexport SLURMD_NODENAME\nshift\nexec sh -c \"$*\"\n");
  fs::permissions(work() / "shell", fs::perms::owner_all);
  write("machines", "localhost\nfar\n");
  const std::string on_machines =
      fmt::format("--steps 3 --hosts machines --remote-shell {} ", (work() / "shell").string());
  for (const char* two : {"--workers 2 ", "--devices 2 --strategy allreduce --scaling weak "}) {
    const Json record = object_from(kTrain + two + on_machines);
    EXPECT_EQ(record["collective"], "mpi");
    EXPECT_EQ(record["nodes_used"], 2) << record["hosts"];
    EXPECT_EQ(record["devices_used"], 2);
    ASSERT_EQ(record["hosts"].size(), 2u) << record["hosts"];
    EXPECT_EQ(record["hosts"][1], (Json{{"name", "far"}, {"workers", 1}}));
  }
  EXPECT_EQ(object_from(kTwo + "--steps 3")["nodes_used"], 1);
  expect_failure(kTrain + "--hosts machines", 1, "--hosts: strategy single runs in one process");
  expect_failure(kTrain + "--workers 3 --hosts machines", 1, "--workers 3: 'machines' has room for 2");
  expect_failure(kTrain + "--workers 2 --collective local --hosts machines", 1, "--hosts wants mpi or nccl");
  expect_failure(kTrain + "--workers 2 --hosts machines --remote-shell {}", 1,
                 "mpirun names the machine last");
  write("machines", "far workers=2\n");
  expect_failure(kTrain + "--workers 2 --hosts machines", 1, "give --out, a folder that all see");
  write("machines", "localhost workers=2 servers=1\n");
  expect_failure(kTrain + "--workers 2 --hosts machines", 1, "names 1");
  write("machines", "localhost workers=2 backend=reference\n");
  expect_failure(kTrain + "--workers 2 --hosts machines", 1, "ranks of MPI compute alike");
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
  std::vector<std::string> command = trainyard(kTwo + "--steps 4 --checkpoint-every 3 --out run");
  const std::string mpirun = TRAINYARD_MPIRUN;
  for (const char* word : {"none", "--bind-to", "2", "-n"}) command.insert(command.begin(), word);
  command.insert(command.begin(), mpirun);
  CommandOptions told = options();  // what `train` tells mpirun by itself
  told.environment["OMPI_ALLOW_RUN_AS_ROOT"] = told.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  told.environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1";
  const CommandResult result = cli_test::run(command, told);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(parse_json(result.out)["ranks"], 2);
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
    Command command(trainyard(kTwo + "--steps 1000000 --checkpoint-every 3 --out " + folder), options());
    wait_for_checkpoint(command, folder);
    ASSERT_TRUE(command.running()) << command.wait().err;
    const pid_t mpirun = mpirun_of(command);
    ::kill(whom == Whom::train    ? command.pid()
           : whom == Whom::mpirun ? mpirun
                                  : children_of(mpirun).back(),
           SIGTERM);
    const CommandResult result = command.wait();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    const Json report = parse_json(result.out);
    EXPECT_EQ(report["status"], "interrupted");
    step = report["final_step"].get<std::int64_t>();
    EXPECT_TRUE(fs::exists(work() / folder / fmt::format("step-{:08}", step)));
  }
  object_from(fmt::format("{}--steps {} --checkpoint-every 3 --out cut-2 --resume", kTwo, step + 4));
  object_from(fmt::format("{}--steps {} --checkpoint-every 3 --out whole", kTwo, step + 4));
  EXPECT_EQ(final_tensors("cut-2"), final_tensors("whole"));
}

TEST_F(WorkersTest, AJobThatIsQueuedAgainBeginsOrGoesOn) {
  const CommandResult refused = run(kTwo + "--steps 3 --checkpoint-every 3 --out queued --resume");
  EXPECT_EQ(refused.exit_code, 1) << refused.err;
  EXPECT_NE(refused.err.find("no checkpoint in 'queued'"), std::string::npos) << refused.err;
  EXPECT_TRUE(object_from(kTwo + "--steps 3 --checkpoint-every 3 --out queued --resume=auto")["resumed_from"]
                  .is_null());
  EXPECT_EQ(object_from(kTwo + "--steps 5 --checkpoint-every 3 --out queued --resume=auto")["resumed_from"],
            "queued/step-00000003");
}

TEST_F(WorkersTest, AKilledWorkerEndsTheRun) {
  for (const bool first : {true, false}) {
    SCOPED_TRACE(first);
    const std::string folder = first ? "first" : "last";
    Command command(trainyard(kTwo + "--steps 1000000 --checkpoint-every 3 --out " + folder), options());
    wait_for_checkpoint(command, folder);
    const std::vector<pid_t> ranks = children_of(mpirun_of(command));
    ::kill(first ? ranks.front() : ranks.back(), SIGKILL);
    expect_failed(command.wait(), 2, fmt::format("worker {} was ended by signal 9", first ? 0 : 1));
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
  expect_failure(kTrain + "--steps 5 --collective mpi", 1, "--collective mpi wants --workers");
  expect_failure(kTrain + "--steps 5 --workers 2 --collective nccl", 1, "wants GPUs");
  expect_failure(kTrain + "--steps 5 --workers 2 --collective mpo", 1, "did you mean 'mpi'");
  expect_failure(kTrain + "--steps 5 --workers 2 --mode bps", 1, "--mode 'bps'");
  expect_failure(kTrain + "--steps 5 --workers 2 --mode ssp:N", 1, "ssp:N with N >= 0");
  expect_failure(kTwo + "--steps 5 --threads 3", 1, "cannot be shared equally by 2");
}

// Files of shared memory that these processes have open now.
std::set<std::string> shared_memory_of(const std::vector<pid_t>& processes) {
  std::set<std::string> files;
  for (const pid_t process : processes) {
    std::ifstream maps(fmt::format("/proc/{}/maps", process));
    for (std::string line; std::getline(maps, line);)
      if (const std::size_t at = line.find("/dev/shm/");
          at != std::string::npos && fs::exists(line.substr(at)))
        files.insert(line.substr(at));
  }
  return files;
}

// Nor does what Open MPI's ranks share, which mpirun removes if it is asked to end, and not twice.
TEST_F(WorkersTest, NothingOutlivesATrainThatWasKilled) {
  Command command(trainyard(kTwo + "--steps 1000000 --checkpoint-every 3 --out killed"), options());
  wait_for_checkpoint(command, "killed");
  const std::vector<pid_t> tree = tree_below(command.pid());
  ASSERT_EQ(tree.size(), 3u);
  const std::set<std::string> shared = shared_memory_of(tree);
  command.signal(SIGKILL);
  EXPECT_TRUE(end_soon(tree));
  for (const std::string& file : shared) EXPECT_FALSE(fs::exists(file)) << file;
}

// As one that is busy starting a thousand ranks.
TEST_F(WorkersTest, AnMpirunThatHeedsNoSignalEndsWithTrainToo) {
  std::ofstream(work() / "mpirun") << "#!/bin/sh\ntrap '' TERM HUP\nsetsid sleep 1000 &\n"
                                      "echo $! > away\nwhile :; do sleep 1; done\n";
  fs::permissions(work() / "mpirun", fs::perms::owner_all);
  CommandOptions given = options();
  given.environment["PATH"] = fmt::format("{}:{}", work().string(), std::getenv("PATH"));
  Command command(trainyard(kTwo + "--steps 5"), given);
  pid_t away = 0;
  while (command.running() && !(std::ifstream(work() / "away") >> away))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::vector<pid_t> all = tree_below(command.pid());
  all.push_back(away);
  ASSERT_GE(all.size(), 3u);
  command.signal(SIGKILL);
  EXPECT_TRUE(end_soon(all));
}

TEST_F(WorkersTest, RanksDoNotOutliveAnMpirunThatWasKilled) {
  Command command(trainyard(kTwo + "--steps 1000000 --checkpoint-every 3 --out orphaned"), options());
  wait_for_checkpoint(command, "orphaned");
  const std::vector<pid_t> tree = tree_below(command.pid());
  ASSERT_EQ(tree.size(), 3u);
  ::kill(mpirun_of(command), SIGKILL);
  EXPECT_NE(command.wait().exit_code, 0);
  EXPECT_TRUE(end_soon(tree));
}

TEST_F(WorkersTest, MoreThanThisMachineBearsAreRefused) {
  const std::string limit = "processes, this machine may have ";
  expect_failure(kTrain + "--steps 5 --workers 100000", 1, "--workers 100000: 100000 " + limit);
  expect_failure(kTrain + "--steps 5 --workers 1000 --mode asp --servers 100000", 1,
                 "--workers 1000 --servers 100000: 101000 " + limit);
  CommandOptions fewer = options();
  fewer.environment["TRAINYARD_MAX_PROCESSES"] = "1";
  expect_failed(cli_test::run(trainyard(kTwo + "--steps 5"), fewer), 1,
                "--workers 2: 2 processes, this machine may have 1 (TRAINYARD_MAX_PROCESSES=1");
  expect_failure("train --no-eval --workers 2 --collective mpi --network vgg16 --batch 1000000", 1,
                 "network 'vgg16' at batch 1000000: needs ");
}

}  // namespace
}  // namespace trainyard::cli_test
