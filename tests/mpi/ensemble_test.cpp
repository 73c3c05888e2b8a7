// Ensembles as processes: what members see and become, whatever happens to them.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <regex>
#include <thread>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/process_tree.h"
#include "engine/checkpoint.h"

namespace trainyard::cli_test {
namespace {

constexpr double kDeadlineSeconds = 20;  // an error must come within the patience, and some

class EnsembleTest : public CliTest {
 protected:
  EnsembleTest() {
    pack("--images 96 --seed 1");
    pack("--images 40 --seed 2 --split test");
    std::ofstream(work() / "two.yaml") << "data: photos\n"
                                          "preprocess: {name: cifarnet_slim, size: 16}\n"
                                          "queues: {block: 8, made: 32, ahead: 32}\n"
                                          "threads: 1\npatience: 10\ncheckpoint_every: 5\n"
                                          "members:\n"
                                          "  - {network: lenet, batch: 8, threads: 1, lr: 0.02, seed: 3}\n"
                                          "  - {network: lenet, batch: 12, threads: 1, lr: 0.01, seed: 4}\n";
  }

  void pack(const std::string& what) const {
    const CommandResult result =
        run("data pack synthetic --to photos --classes 2 --pixels 40..60 --shards 2 --quiet " + what);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  Json ensemble(const std::string& arguments) const {
    const CommandResult result = run("ensemble run two.yaml --json " + arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json_or_discard(result.out);
  }

  std::vector<std::byte> weights(const std::string& folder, int member) const {
    const auto latest = engine::latest_checkpoint(work() / folder / fmt::format("member-{}", member));
    return latest ? read_file(*latest / "tensors.bin") : std::vector<std::byte>{};
  }

  // Some process below this one whose command line holds all of these.
  static std::optional<pid_t> find_process(pid_t parent, const std::vector<std::string>& words) {
    for (const pid_t child : children_of(parent)) {
      const std::string line = command_line_of(child);
      if (std::all_of(words.begin(), words.end(),
                      [&](const std::string& word) { return line.find(word) != std::string::npos; }))
        return child;
      if (const auto below = find_process(child, words)) return below;
    }
    return std::nullopt;
  }

  void wait_for_checkpoints(Command& command, const std::string& folder) const {
    const double began = now_seconds();
    while (command.running() && now_seconds() - began < 50 &&
           (weights(folder, 0).empty() || weights(folder, 1).empty()))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  // Runs without end, until both members have a checkpoint and the process found by these words is killed.
  CommandResult killed(const std::string& arguments, const std::vector<std::string>& words,
                       int signal = SIGKILL) const {
    Command command(trainyard("ensemble run two.yaml --steps 1000000 --no-eval --out cut " + arguments),
                    options());
    wait_for_checkpoints(command, "cut");
    const auto victim = find_process(command.pid(), words);
    EXPECT_TRUE(victim.has_value()) << command.running();
    if (victim) ::kill(*victim, signal);
    const double began = now_seconds();
    CommandResult result = command.wait();
    EXPECT_LT(now_seconds() - began, kDeadlineSeconds);
    return result;
  }
};

TEST_F(EnsembleTest, EveryDesignTrainsTheSameMembers) {
  const Json alone = ensemble("--design baseline --steps 10 --out alone");
  const Json shared = ensemble("--design shared-memory --steps 10 --out shared");
  for (const Json& one : {alone, shared}) {
    EXPECT_EQ(one["images_consumed"], 10 * (8 + 12));
    EXPECT_GE(one["vote_mean_probability"].get<double>(), 0.0);
    EXPECT_EQ(one["members_lost"], 0);
  }
  // Both see the samples in the same order.
  for (const int member : {0, 1}) {
    ASSERT_FALSE(weights("alone", member).empty());
    EXPECT_EQ(weights("alone", member), weights("shared", member));
  }
  for (const char* design :
       {"all-shared", "single-broadcast --preprocessors 2", "multi-broadcast --preprocessors 2",
        "multi-broadcast-asbuilt --preprocessors 2"})
    EXPECT_EQ(ensemble(std::string("--steps 6 --no-eval --design ") + design)["images_consumed"],
              6 * (8 + 12));
}

TEST_F(EnsembleTest, InterruptedAndResumedIsAsIfNothingHappened) {
  for (const char* design : {"shared-memory", "baseline"}) {
    SCOPED_TRACE(design);
    const std::string words = fmt::format("--no-eval --design {} ", design);
    const std::string folder = fmt::format("cut-{}", design);
    Command command(
        trainyard(fmt::format("ensemble run two.yaml --steps 1000000 --out {} {}", folder, words)),
        options());
    wait_for_checkpoints(command, folder);
    command.signal(SIGTERM);
    const CommandResult cut = command.wait();
    EXPECT_EQ(cut.exit_code, 130) << cut.err;
    std::int64_t steps = 0;
    for (const int member : {0, 1}) {
      const auto latest = engine::latest_checkpoint(work() / folder / fmt::format("member-{}", member));
      ASSERT_TRUE(latest.has_value());
      steps = std::max<std::int64_t>(steps, std::stoll(latest->filename().string().substr(5)));
    }
    ensemble(fmt::format("{}--steps {} --out {} --resume", words, steps + 5, folder));
    ensemble(fmt::format("{}--steps {} --out whole --overwrite", words, steps + 5));
    for (const int member : {0, 1}) EXPECT_EQ(weights(folder, member), weights("whole", member)) << member;
  }
}

TEST_F(EnsembleTest, AJobThatIsQueuedAgainBeginsOrGoesOn) {
  for (const char* design : {"shared-memory", "baseline"}) {
    SCOPED_TRACE(design);
    const std::string words = fmt::format("--no-eval --design {0} --out queued-{0} --steps ", design);
    const CommandResult refused = run("ensemble run two.yaml " + words + "3 --resume");
    EXPECT_EQ(refused.exit_code, 1) << refused.err;
    EXPECT_NE(refused.err.find("--resume: no checkpoint of any member in 'queued-"), std::string::npos)
        << refused.err;
    EXPECT_EQ(ensemble(words + "3 --resume=auto")["images_consumed"], 3 * (8 + 12));
    EXPECT_EQ(ensemble(words + "5 --resume=auto")["images_consumed"], 2 * (8 + 12));
  }
}

TEST_F(EnsembleTest, AKilledMemberEndsTheRunOrIsLeftOut) {
  const CommandResult aborted = killed("", {"ensemble member", "--member 1"});
  EXPECT_EQ(aborted.exit_code, 2) << aborted.err;
  EXPECT_NE(aborted.err.find("member 1 (lenet) was ended by signal 9"), std::string::npos) << aborted.err;
  EXPECT_NE(aborted.err.find("--resume"), std::string::npos) << aborted.err;
  // Left without it, the other one goes on until it is through.
  Command command(trainyard("ensemble run two.yaml --steps 150 --no-eval --json --lost drop --out dropped"),
                  options());
  wait_for_checkpoints(command, "dropped");
  const auto victim = find_process(command.pid(), {"ensemble member", "--member 1"});
  ASSERT_TRUE(victim.has_value());
  ::kill(*victim, SIGKILL);
  const CommandResult dropped = command.wait();
  EXPECT_EQ(dropped.exit_code, 0) << dropped.err;
  EXPECT_NE(dropped.err.find("member 1 (lenet) was ended by signal 9 (Killed); going on without it"),
            std::string::npos)
      << dropped.err;
  const Json record = parse_json(dropped.out);
  EXPECT_EQ(record["members_lost"], 1);
  EXPECT_EQ(record["images_consumed"], 150 * 8);
}

TEST_F(EnsembleTest, AMemberThatStandsStillIsNamed) {
  const CommandResult result = killed("--patience 1", {"ensemble member", "--member 0"}, SIGSTOP);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("the preprocessor says: member 0 took no samples for 1 s"), std::string::npos)
      << result.err;
}

TEST_F(EnsembleTest, AKilledPreprocessorEndsTheRun) {
  const CommandResult result = killed("", {"ensemble preprocess"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("the preprocessor"), std::string::npos) << result.err;
}

TEST_F(EnsembleTest, AKilledRankEndsTheRunAndIsNamed) {
  for (const char* design : {"all-shared", "multi-broadcast"}) {
    SCOPED_TRACE(design);
    Command command(trainyard(fmt::format(
                        "ensemble run two.yaml --steps 1000000 --no-eval --out {0} --design {0}", design)),
                    options());
    wait_for_checkpoints(command, design);
    const auto mpirun = find_process(command.pid(), {"mpirun"});
    ASSERT_TRUE(mpirun.has_value());
    ::kill(children_of(*mpirun).at(0), SIGKILL);
    const double began = now_seconds();
    const CommandResult result = command.wait();
    EXPECT_LT(now_seconds() - began, kDeadlineSeconds);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find("member "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("signal 9"), std::string::npos) << result.err;
  }
}

TEST_F(EnsembleTest, ALostRankIsLeftOut) {
  for (const int number : {SIGKILL, SIGSTOP})
    for (const char* design : {"all-shared", "baseline"}) {
      if (number == SIGSTOP && design == std::string("baseline")) continue;  // nobody waits for it there
      SCOPED_TRACE(fmt::format("{} by signal {}", design, number));
      const std::string folder = fmt::format("{}-{}", design, number);
      Command command(
          trainyard(fmt::format("ensemble run two.yaml --steps 600 --no-eval --json --lost drop --patience 3 "
                                "--out {} --design {}",
                                folder, design)),
          options());
      wait_for_checkpoints(command, folder);
      const auto mpirun = find_process(command.pid(), {"mpirun"});
      ASSERT_TRUE(mpirun.has_value());
      ::kill(children_of(*mpirun).at(1), number);
      const CommandResult result = command.wait();
      EXPECT_EQ(result.exit_code, 0) << result.err;
      EXPECT_TRUE(std::regex_search(result.err, std::regex("member [01] \\(lenet\\).*; going on without it")))
          << result.err;
      const Json record = parse_json(result.out);
      EXPECT_EQ(record["members_lost"], 1);
      ASSERT_EQ(record["members"].size(), 1u) << record;
      EXPECT_EQ(record["members"][0]["final_step"], 600);
    }
}

TEST_F(EnsembleTest, DamagedImagesAreCountedOrRefused) {
  // In the midst of a shard's bytes, and in a place that its lengths do not speak of.
  const auto shard = work() / "photos" / "photos-train-00000-of-00002.tfrecord";
  {
    std::fstream file(shard, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(400);
    file.write("damage", 6);
  }
  const Json skipped = ensemble("--steps 12 --no-eval");
  EXPECT_GT(skipped["images_skipped"].get<double>(), 0);
  EXPECT_EQ(skipped["images_consumed"], 12 * (8 + 12));
  std::ofstream(work() / "two.yaml", std::ios::app) << "damaged: refuse\n";
  const CommandResult refused = run("ensemble run two.yaml --steps 12 --no-eval");
  EXPECT_EQ(refused.exit_code, 1) << refused.err;
  EXPECT_NE(refused.err.find("photos-train-00000-of-00002.tfrecord"), std::string::npos) << refused.err;
}

TEST_F(EnsembleTest, TakesPartWhereMpirunStartedIt) {
  std::vector<std::string> command =
      trainyard("ensemble run two.yaml --design all-shared --steps 6 --no-eval --json --out run");
  for (const char* word : {"none", "--bind-to", "2", "-n", TRAINYARD_MPIRUN})
    command.insert(command.begin(), word);
  CommandOptions told = options();  // what `ensemble run` tells mpirun by itself
  told.environment["OMPI_ALLOW_RUN_AS_ROOT"] = told.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  told.environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1";
  const CommandResult result = cli_test::run(command, told);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(parse_json(result.out)["images_consumed"], 6 * (8 + 12));
}

TEST_F(EnsembleTest, VisionTransformersShareImages) {
  std::ofstream(work() / "two.yaml")
      << "data: photos\npreprocess: {name: cifarnet_slim, size: 16}\nthreads: 1\nmembers:\n"
         "  - {network: vit, layers: 2, width: 16, heads: 2, image: 16, batch: 8, threads: 1, count: 2}\n";
  const Json record = ensemble("--steps 6 --out run");
  EXPECT_EQ(record["images_consumed"], 6 * 8 * 2);
  EXPECT_FALSE(weights("run", 0).empty());
  EXPECT_NE(weights("run", 0), weights("run", 1));
}

TEST_F(EnsembleTest, MembersGoOnFromWeightsAndFreezeSome) {
  ensemble("--steps 4 --no-eval --out base");
  std::ifstream before(work() / "two.yaml");
  std::string text{std::istreambuf_iterator<char>(before), {}};
  text.replace(text.find("seed: 3"), 7, "seed: 3, weights: base/member-0, freeze: all-but-head");
  text.replace(text.find("seed: 4"), 7, "seed: 4, weights: base/member-0, new_head: true");
  std::ofstream(work() / "two.yaml") << text;
  ensemble("--steps 4 --no-eval --out tuned");
  const std::vector<std::byte> base = weights("base", 0), head = weights("tuned", 0),
                               all = weights("tuned", 1);
  ASSERT_GT(base.size(), 10'000u);
  ASSERT_EQ(base.size(), head.size());
  // The last layer lies at the end.
  EXPECT_TRUE(std::equal(base.begin(), base.end() - 10'000, head.begin()));
  EXPECT_NE(base, head);
  EXPECT_FALSE(std::equal(base.begin(), base.begin() + 1000, all.begin()));
}

TEST_F(EnsembleTest, MistakesAreNamed) {
  expect_failure("ensemble run two.yaml --design all-shared --preprocessors 1", 1, "each of the 2 members");
  expect_failure("ensemble run two.yaml --design starfish", 1, "shared-memory");
  std::ofstream(work() / "wrong.yaml") << "data: photos\nmembers:\n  - {network: lennet}\n";
  expect_failure("ensemble run wrong.yaml", 1, "wrong.yaml:3");
  std::ofstream(work() / "text.yaml") << "data: photos\nmembers:\n  - {network: transformer}\n";
  expect_failure("ensemble run text.yaml", 1,
                 "text.yaml:3:5: network 'transformer' reads sequences; members share preprocessed images");
  std::ofstream(work() / "none.yaml") << "data: nowhere\nmembers:\n  - {network: lenet}\n";
  expect_failure("ensemble run none.yaml", 1, "nowhere");
  std::ofstream(work() / "key.yaml") << "data: photos\nmember:\n  - {network: lenet}\n";
  expect_failure("ensemble run key.yaml", 1, "did you mean 'members'");
}

TEST_F(EnsembleTest, NothingOutlivesARunThatWasKilled) {
  for (const std::string design : {"shared-memory", "all-shared"}) {
    const std::string folder = "killed-" + design;
    Command command(
        trainyard("ensemble run two.yaml --steps 1000000 --no-eval --out " + folder + " --design " + design),
        options());
    wait_for_checkpoints(command, folder);
    const std::vector<pid_t> tree = tree_below(command.pid());
    ASSERT_EQ(tree.size(), 3u) << design;  // two members, and a preprocessor or mpirun
    command.signal(SIGKILL);
    EXPECT_TRUE(end_soon(tree)) << design;
  }
}

TEST_F(EnsembleTest, MoreThanThisMachineBearsAreRefused) {
  std::ofstream(work() / "many.yaml") << "data: photos\npreprocess: {name: cifarnet_slim, size: 16}\n"
                                         "members:\n  - {network: lenet, batch: 8, count: 3}\n";
  CommandOptions fewer = options();
  fewer.environment["TRAINYARD_MAX_PROCESSES"] = "2";
  expect_failed(cli_test::run(trainyard("ensemble run many.yaml"), fewer), 1,
                "ensemble of 3 members: 4 processes, this machine may have 2 ");
  expect_failure("ensemble run many.yaml --threads 1000000", 1,
                 "1000000 threads of a preprocessor: this machine may have ");
  expect_failure("ensemble run many.yaml --members 2000000000", 1,
                 "--members: '2000000000' given, a whole number from 1 to 1000 expected");
  std::ofstream(work() / "long.yaml") << "data: photos\npreprocess: {name: cifarnet_slim, size: 16}\n"
                                         "queues: {ahead: 1000000000000}\n"
                                         "members:\n  - {network: lenet, batch: 8}\n";
  expect_failure("ensemble run long.yaml", 1, "ensemble of 1 members: 2 processes need ");
}

}  // namespace
}  // namespace trainyard::cli_test
