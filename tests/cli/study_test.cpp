// `trainyard study` as a user meets it: killed, resumed, and given bad input.

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/philox.h"
#include "cli/cli_fixture.h"
#include "cli/process_tree.h"
#include "ps/mode/mode.h"
#include "store/store.h"
#include "study/spec/known_settings.h"
#include "train/session/deployment.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

class StudyTest : public CliTest {
 protected:
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(work() / name, std::ios::binary) << content;
  }

  Json status(const std::string& folder) const {
    const CommandResult result = run("study status " + folder + " --json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out);
  }
};

// A point that cannot fit is a row, and the next one runs.
TEST_F(StudyTest, WhatDoesNotFitIsRefusedAndTheRestRuns) {
  write("sizes.yaml",
        "study: sizes\nsettings: {network: fc, layers: 2, inputs: 8, batch: 2, steps: 2, warmup: 0, no_peak: "
        "true}\n"
        "axes: {width: [8, 10000000, 16]}\norder: nested\n");
  const CommandResult result = run("study run sizes.yaml");
  EXPECT_EQ(result.exit_code, 2);
  const Json found = status("results/sizes");
  EXPECT_EQ(found["expected"], 3);
  EXPECT_EQ(found["done"], 2);
  EXPECT_NE(result.err.find("refused"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("needs "), std::string::npos) << result.err;
}

TEST_F(StudyTest, SizesThatAreNotAllowedAreNamedBeforeAnythingRuns) {
  write("small.yaml",
        "study: small\nsettings: {network: cnn, steps: 1, batch: 1}\naxes: {image: [100, 200]}\n");
  const CommandResult result = run("study plan small.yaml");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(
      result.err.find("--image 100: network 'cnn' with --pool fixed takes at least 193; any with --pool "
                      "adaptive: 1 of 2 cells can never run"),
      std::string::npos)
      << result.err;
}

TEST_F(StudyTest, SharesTogetherAreTheStudy) {
  write("shared.yaml",
        "study: shared\nrun: program\nprogram: [sh, -c, 'echo {cell} >> done.txt']\naxes: {cell: 1..7 +1}\n");
  for (const char* share : {"1/3", "2/3", "3/3"})
    EXPECT_EQ(run(std::string("study run shared.yaml --shard ") + share).exit_code, 0) << share;
  std::multiset<std::string> done;
  std::ifstream file(work() / "done.txt");
  for (std::string line; std::getline(file, line);) done.insert(line);
  EXPECT_EQ(done, (std::multiset<std::string>{"1", "2", "3", "4", "5", "6", "7"}));
  EXPECT_EQ(run("study run shared.yaml").exit_code, 0);
  EXPECT_EQ(status("results/shared")["done"], 7);
  expect_failure("study run shared.yaml --shard 4/3", 1, "--shard 4/3: K/N expected");
  expect_failure("study run shared.yaml --shard 9/9", 1, "the study has 7 cells, so this share has none");
}

TEST_F(StudyTest, KilledFiveTimesAtRandomItEndsComplete) {
  write("killed.yaml",
        "study: killed\nrun: program\nprogram: [sh, -c, 'sleep 0.05; echo {cell} {part} >> done.txt']\n"
        "axes: {cell: 1..12 +1, part: [a, b]}\n");
  const Philox draws(20181115, 1);
  int killed = 0;
  for (std::uint64_t round = 0; killed < 5 && round < 40; ++round) {
    Command command(trainyard("study run killed.yaml"), options());
    ::usleep(60'000 + draws.word(round) % 300'000);
    if (!command.running()) break;
    command.signal(SIGKILL);
    EXPECT_EQ(command.wait().exit_code, 128 + SIGKILL);
    ++killed;
  }
  EXPECT_EQ(killed, 5);
  const CommandResult last = run("study run killed.yaml");
  EXPECT_EQ(last.exit_code, 0) << last.out << last.err;
  const Json found = status("results/killed");
  EXPECT_EQ(found["expected"], 24);
  EXPECT_EQ(found["done"], 24);
  EXPECT_EQ(found["missing"], 0);

  const store::Store store(work() / "results/killed" / store::Store::file_name(), store::Store::Access::read);
  EXPECT_EQ(store.integrity(), "");
  std::set<std::pair<std::string, int>> good;
  std::set<std::string> ids;
  for (const record::RunRecord& record : store.runs()) {
    EXPECT_TRUE(ids.insert(record.id).second) << record.id;
    EXPECT_EQ(record.status, record::Status::ok) << record.reason;
    EXPECT_TRUE(good.emplace(record.cell, record.replicate).second) << "done twice: " << record.id;
  }
  EXPECT_EQ(good.size(), 24u);
}

TEST_F(StudyTest, NothingIsImportedIntoAStudyOfOwnRuns) {
  write("own.yaml", "study: own\nrun: program\nprogram: ['true']\n");
  ASSERT_EQ(run("study run own.yaml --quiet --out own").exit_code, 0);
  write("t4.csv",
        "device,input_type,layers,nodes,batch_size,input_size,output_size,#params,duration,tflops\n"
        "Tesla T4, f32, 4, 32, 1, 2000, 200, 7, 0.25, 0.01\n");
  expect_failure("study import own --from t4.csv", 1, "own' holds a study of its own runs");
  EXPECT_EQ(status("own")["expected"], 1);
  EXPECT_EQ(run("study import fresh --from t4.csv").exit_code, 0);
  EXPECT_EQ(run("study import fresh --from t4.csv").exit_code, 0) << "imports may be repeated";
}

TEST_F(StudyTest, CtrlCEndsItAndTheSameCommandGoesOn) {
  write("long.yaml",
        "study: long\nrun: program\nprogram: [sh, -c, 'touch at-{seconds}; exec sleep {seconds}']\n"
        "axes: {seconds: [0, 200]}\norder: nested\n");
  Command command(trainyard("study run long.yaml --quiet"), options());
  while (command.running() && !std::filesystem::exists(work() / "at-200"))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  command.signal(SIGINT);
  const double asked = now_seconds();
  const CommandResult result = command.wait();
  EXPECT_LT(now_seconds() - asked, 60) << "it waited for its run to end";
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_NE(result.err.find("the same command goes on"), std::string::npos) << result.err;
  const Json found = status("results/long");
  EXPECT_EQ(found["done"], 1);
  EXPECT_EQ(found["failed"]["interrupted"], 1);
}

TEST_F(StudyTest, PlanCountsCellsAndNamesTheBatchThatCannotBe) {
  write(
      "sweep.yaml",
      "study: sweep\nrun: train\nsettings: {data: mnist, network: deepmnist, device: cuda, scaling: weak}\n"
      "axes: {devices: [1, 2, 4], gpu_type: [k80, p100], batch: [16..16384 x2, 327681], staging: [in-place, "
      "local],"
      " strategy: [asp, bsp]}\nexclude: [{gpu_type: p100, devices: 4}]\n");
  const CommandResult result = run("study plan sweep.yaml --json");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(parse_json(result.out)["cells"].size(), 240u);
  EXPECT_EQ(result.err,
            "trainyard: sweep.yaml: batch 327681 is larger than the training set of mnist (60000 images): 20 "
            "of 240 "
            "cells can never run\n");
  EXPECT_EQ(run("study run sweep.yaml").exit_code, 1);
  EXPECT_FALSE(fs::exists(work() / "results"));
}

TEST_F(StudyTest, TheBoundOfSspIsAnyNumber) {
  write(
      "bounds.yaml",
      "study: bounds\nrun: train\nsettings: {network: lenet, batch: 8, steps: 2, devices: 2, scaling: weak}\n"
      "axes: {strategy: [ssp:5, ssp:17]}\n");
  const CommandResult result = run("study plan bounds.yaml --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(parse_json(result.out)["cells"].size(), 2u);
  expect_failure("study plan bounds.yaml --set strategy=ssp:x", 1, "strategy 'ssp:x'");
  expect_failure("study plan bounds.yaml --set preprocess=cifar", 1, "did you mean");
}

TEST_F(StudyTest, ModesOfParameterServersRunAndLeaveTheirLossOverTime) {
  write("modes.yaml",
        "study: modes\nrun: train\norder: nested\n"
        "settings: {network: lenet, batch: 8, steps: 4, no_eval: true, devices: 2, scaling: weak}\n"
        "axes: {strategy: [asp, bsp, allreduce]}\n");
  const CommandResult result = run("study run modes.yaml --quiet");
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const store::Store store(work() / "results/modes" / store::Store::file_name(), store::Store::Access::read);
  std::map<std::string, int> gradients;
  for (const record::RunRecord& run : store.runs()) {
    const Json curve = parse_json(run.details.at("loss_curve"));
    gradients[run.words.at("strategy")] = curve.back()[1].get<int>();
    EXPECT_EQ(curve.size(), 4u);
    EXPECT_GT(curve[0][0], 0);
    EXPECT_LE(curve[0][0], curve[3][0]);
    EXPECT_NEAR(curve[0][2].get<double>(), run.figures.at("first_loss"), 1e-5);
  }
  EXPECT_EQ(gradients, (std::map<std::string, int>{{"allreduce", 8}, {"asp", 4}, {"bsp", 8}}));
}

TEST_F(StudyTest, Mistakes) {
  write("typo.yaml", "study: a\naxes: {batch: [1]}\nreplicats: 2\n");
  expect_failure("study run typo.yaml", 1,
                 "typo.yaml:3:1: unknown key 'replicats' (did you mean 'replicates'?)");
  write("axis.yaml", "study: a\naxes:\n  bacth: [1]\n");
  expect_failure("study plan axis.yaml", 1, "axis.yaml:3:3: unknown axis 'bacth' (did you mean 'batch'?)");
  write("empty.yaml", "study: a\naxes: {batch: [1]}\nexclude: [{batch: 1}]\n");
  expect_failure("study plan empty.yaml", 1, "no cell is left");
  write("syntax.yaml", "study: a\naxes: {batch: [1\n");
  expect_failure("study plan syntax.yaml", 1, "syntax.yaml:");
  expect_failure("study plan nowhere.yaml", 1, "nowhere.yaml");
  expect_failure("study status nowhere", 1, "'nowhere' is not the folder of a study");
  expect_failure("study", 1, "trainyard study wants a command: one of plan, run");
  write("program.yaml", "study: a\nrun: program\nprogram: ['true']\n");
  expect_failure("study run program.yaml --retry soon", 1, "'soon'");
}

TEST_F(StudyTest, GpusThatWouldIdleAreNamed) {
  write("idle.yaml", "study: idle\nsettings: {device: cuda, gpus: 4, devices: 2}\n");
  const CommandResult result = run("study plan idle.yaml");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("gpus 4 with devices 2: the others would idle"), std::string::npos) << result.err;
}

TEST_F(StudyTest, WhatThisMachineHasNotIsNamedBeforeAnythingStarts) {
  write("gpus.yaml",
        "study: gpus\nrun: program\nprogram: ['true']\naxes: {gpus: [64], gpu_type: [k80, p100]}\n");
  const CommandResult result = run("study run gpus.yaml --quiet");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("GPUs asked for: 64 of type k80; this machine has "), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find(": 1 of 2 cells can never run"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(work() / "results"));
  EXPECT_EQ(run("study run gpus.yaml --quiet --skip-impossible").exit_code, 2);
  EXPECT_EQ(status("results/gpus")["failed"]["refused"], 2);
}

TEST_F(StudyTest, ABatchThatNoMemoryHoldsIsARowWithTheBytes) {
  expect_failure("bench --network vgg16 --batch 100000000 --no-peak --quiet --record alone.json", 1,
                 "network 'vgg16' at batch 100000000: needs ");
  const record::RunRecord alone = record::read_run_record(work() / "alone.json");
  EXPECT_EQ(alone.status, record::Status::refused);
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_NE(alone.reason.find(" of memory, this machine has "), std::string::npos) << alone.reason;
  write(
      "huge.yaml",
      "study: huge\nrun: bench\nsettings: {network: vgg16, threads: 1, steps: 1, warmup: 0, no_peak: true}\n"
      "axes: {batch: [100000000]}\n");
  EXPECT_EQ(run("study run huge.yaml --quiet").exit_code, 2);
  EXPECT_EQ(status("results/huge")["failed"]["refused"], 1);
  const store::Store store(work() / "results/huge" / store::Store::file_name(), store::Store::Access::read);
  const std::vector<record::RunRecord> runs = store.runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].status, record::Status::refused);
  EXPECT_TRUE(runs[0].reason.starts_with("network 'vgg16' at batch 100000000: needs ")) << runs[0].reason;
  EXPECT_NE(runs[0].reason.find("iB of memory, this machine has "), std::string::npos) << runs[0].reason;
}

TEST_F(StudyTest, TwoStudiesInOneFolderAndAFolderThatIsTaken) {
  write("a.yaml", "study: a\nrun: program\nprogram: ['true']\n");
  write("b.yaml", "study: b\nrun: program\nprogram: ['true']\n");
  EXPECT_EQ(run("study run a.yaml --out here").exit_code, 0);
  expect_failure("study run b.yaml --out here --quiet", 1, "belongs to study 'a', not to 'b'");
  expect_failure("study run b.yaml --out . --quiet", 1, "is not empty and holds no study");
  write("slow.yaml", "study: slow\nrun: program\nprogram: [sleep, '20']\n");
  Command first(trainyard("study run slow.yaml"), options());
  for (int i = 0; i < 100 && !fs::exists(work() / "results/slow/lock"); ++i) ::usleep(50'000);
  ::usleep(200'000);
  expect_failure("study run slow.yaml --quiet", 1, "another process (");
}

TEST_F(StudyTest, ADamagedStoreIsNamedAndCanBeMadeAgain) {
  write("a.yaml", "study: a\nrun: program\nprogram: ['true']\naxes: {x: [1, 2, 3]}\n");
  EXPECT_EQ(run("study run a.yaml").exit_code, 0);
  const fs::path store = work() / "results/a" / store::Store::file_name();
  std::ofstream(store, std::ios::binary | std::ios::trunc) << std::string(8192, '#') << "\n";
  expect_failure("study status results/a", 1, "store '");
  expect_failure("study run a.yaml --quiet", 1, "store '");
  fs::rename(store, work() / "broken");
  const CommandResult again = run("study run a.yaml");
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(status("results/a")["done"], 3);
  EXPECT_EQ(std::distance(fs::directory_iterator(work() / "results/a/records"), {}), 3);
}

TEST_F(StudyTest, AReadOnlyFolderIsNamed) {
  const fs::path folder = work() / "readonly";
  fs::create_directories(folder);
  if (::mount("none", folder.c_str(), "tmpfs", MS_RDONLY, "size=1m") != 0)
    GTEST_SKIP() << "cannot mount a read-only file system here";
  write("a.yaml", "study: a\nrun: program\nprogram: ['true']\n");
  expect_failure("study run a.yaml --out readonly/results --quiet", 1, "readonly/results");
  ::umount(folder.c_str());
}

TEST_F(StudyTest, ExportHasTheOldColumnsFirstAndEveryAttempt) {
  write("a.yaml",
        "study: a\nrun: program\nprogram: [sh, -c, 'exit {code}']\naxes: {code: [0, 3]}\norder: nested\n");
  EXPECT_EQ(run("study run a.yaml").exit_code, 2);
  const CommandResult csv = run("study export results/a");
  EXPECT_TRUE(csv.out.starts_with(
      ",mean_speed,Mean_Time_Per_Step,speed_uncertainty,Speed_Jitter,gpu_type,num_gpu,staged_from,run,"))
      << csv.out;
  EXPECT_NE(csv.out.find("failed,exit code 3"), std::string::npos) << csv.out;
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 3);
  std::istringstream lines(run("study export results/a --format jsonl").out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_EQ(parse_json(line)["study"], "a");
  EXPECT_EQ(count, 2);
}

TEST_F(StudyTest, PublishedOutputsAreImportedOnceWithTheirFailures) {
  fs::create_directories(work() / "psc");
  const auto log = [&](const std::string& name, const std::string& content) {
    std::ofstream(work() / "psc" / name) << "+ scontrol show jobid=" << name.size() + content.size() << "\n"
                                         << content;
  };
  const std::string result =
      "Mean Time Per Step : 0.01\nMean Speed : 5000.0 Images/Sec\nspeed uncertainty : 3.9\nSpeed Jitter : "
      "340.0\n";
  log("2018-06-04-k80:1:local", "   Gres=gpu:k80:1 Reservation=(null)\n" + result);
  log("2018-06-05-k80:1:local", "   Gres=gpu:k80:1 Reservation=(null)\n\n" + result);
  log("2018-06-04-p100:2:scratch",
      "   Gres=gpu:p100:2 Reservation=(null)\npython: can't open file 'CNN_MNIST.py'\n");
  for (const char* message : {"3 of 3 published runs were new", "0 of 3 published runs were new"}) {
    const CommandResult imported = run("study import results/psc --from psc");
    EXPECT_EQ(imported.exit_code, 0) << imported.err;
    EXPECT_NE(imported.out.find(message), std::string::npos) << imported.out;
  }
  const Json found = status("results/psc");
  EXPECT_EQ(found["expected"], 3);
  EXPECT_EQ(found["done"], 2);
  EXPECT_EQ(found["failed"]["failed"], 1);
  EXPECT_NE(run("study export results/psc").out.find("5000.0,0.01,3.9,340.0,k80,1,$LOCAL"),
            std::string::npos);
}

TEST_F(StudyTest, ARunCostsLittleBeyondItsProcess) {
  write("empty.yaml", "study: empty\nrun: program\nprogram: ['true']\naxes: {x: 1..100 +1}\n");
  double seconds_per_cell = 1;  // of the quickest, as this machine may have other work
  for (int time = 0; time < 5 && seconds_per_cell >= 0.050; ++time) {
    const std::string results = fmt::format("empty-{}", time);
    const double began = now_seconds();
    EXPECT_EQ(run("study run empty.yaml --quiet --out " + results).exit_code, 0);
    const double seconds = now_seconds() - began;
    double inside = 0;
    const store::Store store(work() / results / store::Store::file_name(), store::Store::Access::read);
    for (const record::RunRecord& record : store.runs()) inside += record.wall_seconds;
    seconds_per_cell = std::min(seconds_per_cell, (seconds - inside) / 100);
  }
  RecordProperty("milliseconds_per_cell", std::to_string(1000 * seconds_per_cell));
  EXPECT_LT(seconds_per_cell, 0.050);
}

TEST_F(StudyTest, WhatAKilledStudyLeftRunningEnds) {
  write("left.yaml",
        "study: left\nrun: program\nprogram: [sh, -c, 'setsid sleep 1000 & echo $! > away; wait']\n");
  Command command(trainyard("study run left.yaml"), options());
  std::vector<pid_t> all;
  while (command.running() && all.empty()) {
    pid_t away = 0;
    if (std::ifstream(work() / "away") >> away) all = {away};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_EQ(all.size(), 1u);
  for (const pid_t process : tree_below(command.pid())) all.push_back(process);
  command.signal(SIGKILL);
  EXPECT_TRUE(end_soon(all));
}

// The libraries of a GPU take gigabytes of addresses, and few of them of memory.
TEST_F(StudyTest, ALimitOnMemoryBindsWhatARunHolds) {
  const std::string before = "run: bench\nsettings: {steps: 2, warmup: 0, no_peak: true, threads: 1, ";
  write("small.yaml", "study: small\nmemory_limit: 512MiB\n" + before + "network: lenet, batch: 2}\n");
  const CommandResult small = run("study run small.yaml");
  EXPECT_EQ(small.exit_code, 0) << small.err;
  write("large.yaml", "study: large\nmemory_limit: 512MiB\n" + before + "network: vgg16, batch: 4}\n");
  EXPECT_EQ(run("study run large.yaml").exit_code, 2);
  EXPECT_EQ(json_text(status("results/large")["failed"]), R"({"oom":1})");
}

}  // namespace
}  // namespace trainyard::cli_test
