// A study over builds: which runs count, where its figures changed, and the git command that finds the
// commit.

#include <fstream>

#include "base/json.h"
#include "cli/cli_fixture.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

class HistoryTest : public CliTest {
 protected:
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(work() / name, std::ios::binary) << content;
  }
  // A program that waits so long; its study says "work" is measured.
  void write_program(const std::string& seconds) const {
    write("work.sh", "#!/bin/sh\nsleep " + seconds + "\n");
    fs::permissions(work() / "work.sh", fs::perms::owner_all);
  }
  void write_study(int replicates) const {
    write("work.yaml", "study: work\nrun: program\nprogram: [./work.sh]\nreplicates: " +
                           std::to_string(replicates) + "\n");
  }
  std::string shell(const std::string& command) const {
    const CommandResult result = cli_test::run({"/bin/sh", "-c", command}, options());
    EXPECT_EQ(result.exit_code, 0) << command << "\n" << result.out << result.err;
    return result.out.substr(0, result.out.find_last_not_of('\n') + 1);
  }
  Json status(const std::string& options = "") {
    return parse_json(run("study status results/work --json " + options).out);
  }
};

TEST_F(HistoryTest, RunsOfTwoBuildsAreNeverPooled) {
  write_program("0");
  write_study(3);
  EXPECT_EQ(run("study run work.yaml --quiet --build first").exit_code, 0);
  // The second build has one run of three when it is looked at.
  write_study(1);
  EXPECT_EQ(run("study run work.yaml --quiet --build second").exit_code, 0);
  write_study(3);
  const CommandResult again = run("study run work.yaml --build second");
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_NE(again.out.find("3 expected, 3 done"), std::string::npos) << again.out;
  EXPECT_NE(again.out.find("of build second; 1 other build is kept"), std::string::npos) << again.out;
  EXPECT_EQ(status()["build"], "second");
  EXPECT_EQ(status()["other_builds"], Json({"first"}));
  EXPECT_EQ(status("--build first")["done"], 3);
}

TEST_F(HistoryTest, ANewBuildRunsAgainAndKeepsWhatThereWas) {
  write_program("0");
  write_study(2);
  for (const char* build : {"first", "second", "second"})
    EXPECT_EQ(run(std::string("study run work.yaml --quiet --build ") + build).exit_code, 0);
  EXPECT_EQ(status()["runs"][0]["run"].get<std::string>().substr(17), "r1-a2");
  EXPECT_EQ(status()["runs"][0]["attempts"], 1);
  EXPECT_EQ(status("--build fir")["runs"][0]["run"].get<std::string>().substr(17), "r1-a1");
  const CommandResult unknown = run("study status results/work --build third");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.err.find("no run is of it; there are first, second"), std::string::npos) << unknown.err;
}

TEST_F(HistoryTest, OwnRunsAreOfThisBuild) {
  write("own.yaml", "study: work\nsettings: {network: fc, layers: 1, width: 8, batch: 4, steps: 3}\n");
  EXPECT_EQ(run("study run own.yaml --quiet").exit_code, 0);
  const auto build = status()["build"].get<std::string>();
  EXPECT_FALSE(build.empty());
  const CommandResult again = run("study run own.yaml");
  EXPECT_EQ(again.err.find("ok "), std::string::npos) << "the same build runs nothing again: " << again.err;
  EXPECT_NE(run("study export results/work").out.find(build), std::string::npos);
}

TEST_F(HistoryTest, CompareTakesOneBuildASide) {
  write_study(4);
  write_program("0.02");
  EXPECT_EQ(run("study run work.yaml --quiet --build quick").exit_code, 0);
  write_program("0.2");
  EXPECT_EQ(run("study run work.yaml --quiet --build slow").exit_code, 0);
  const CommandResult across = run("compare results/work --across build=quick,sl --metric wall_seconds");
  EXPECT_EQ(across.exit_code, 3) << across.out << across.err;
  EXPECT_NE(across.out.find("SLOWER"), std::string::npos);
  EXPECT_EQ(run("compare results/work --across build=slow,quick --metric wall_seconds").exit_code, 0);
  const CommandResult sides =
      run("compare results/work results/work --build quick --metric wall_seconds --json");
  EXPECT_EQ(sides.exit_code, 3) << sides.out << sides.err;
  const Json json = parse_json(sides.out);
  EXPECT_EQ(json["cells"][0]["runs_a"], 4);
  EXPECT_EQ(json["cells"][0]["settings_a"]["build"], "quick");
  EXPECT_EQ(json["cells"][0]["settings_b"]["build"], "slow");
}

// A program says nothing of its machine; its record does.
TEST_F(HistoryTest, TheGateJudgesPrograms) {
  write_study(4);
  write_program("0.02");
  EXPECT_EQ(run("study run work.yaml --quiet --build quick").exit_code, 0);
  const std::string gate = "compare results/work --gate references.json --metric wall_seconds";
  const CommandResult update = run(gate + " --update");
  EXPECT_EQ(update.exit_code, 0) << update.err;
  EXPECT_EQ(run(gate + " --minimum-effect 5").exit_code, 0);
  write_program("0.3");
  EXPECT_EQ(run("study run work.yaml --quiet --build slow").exit_code, 0);
  EXPECT_EQ(run(gate).exit_code, 3);
}

// The first attempt at each run tells of a load beside it, of the second replicate every one.
TEST_F(HistoryTest, DisturbedRunsAreRepeatedAndAllAreKept) {
  write("work.sh", R"(#!/bin/sh
warnings=
if [ $1 = 1 ] || [ $2 = 2 ]; then warnings='{"kind": "load", "text": "somebody else"}'; fi
echo '{"schema": 2, "id": "x", "status": "ok", "started_seconds": 1, "warnings": ['"$warnings"']}' > $3
)");
  fs::permissions(work() / "work.sh", fs::perms::owner_all);
  write("work.yaml",
        "study: work\nrun: program\nprogram: [./work.sh, '{attempt}', '{replicate}', '{record}']\n"
        "replicates: 2\nretry_disturbed: 2\n");
  const CommandResult study = run("study run work.yaml");
  EXPECT_EQ(study.exit_code, 0) << study.err;
  EXPECT_NE(study.err.find("2 runs were disturbed: once more, both are kept"), std::string::npos)
      << study.err;
  EXPECT_NE(study.err.find("1 run was disturbed: once more"), std::string::npos) << study.err;
  const Json runs = status()["runs"];
  EXPECT_EQ(runs[0]["attempts"], 2);
  EXPECT_EQ(runs[0]["run"].get<std::string>().substr(17), "r1-a2") << "the undisturbed one speaks";
  EXPECT_EQ(runs[1]["attempts"], 3) << "one and two more";
  EXPECT_EQ(runs[1]["run"].get<std::string>().substr(17), "r2-a1") << "of equals the first one speaks";
  // Nobody repeats them for ever.
  EXPECT_EQ(run("study run work.yaml").err.find("disturbed"), std::string::npos);
  EXPECT_EQ(status()["runs"][1]["attempts"], 3);
}

// Eight commits, the fifth of which is slow. Four are measured; git finds the fifth with the printed command.
TEST_F(HistoryTest, TheBisectCommandFindsTheCommit) {
  shell("git init -q . && git config user.name t && git config user.email t@example.invalid");
  std::vector<std::string> commits;
  for (int i = 1; i <= 8; ++i) {
    write_program((i < 5 ? "0.03 #" : "0.3 #") + std::to_string(i));
    const std::string date = "2026-01-0" + std::to_string(i) + "T00:00:00Z";
    shell("git add work.sh && GIT_COMMITTER_DATE=" + date + " git commit -q -m version" + std::to_string(i));
    commits.push_back(shell("git rev-parse HEAD"));
  }
  write_study(4);
  // Out of order, as somebody measures who looks back.
  for (const int i : {8, 1, 7, 2}) {
    shell("git checkout -q " + commits[i - 1]);
    ASSERT_EQ(run("study run work.yaml --quiet --build " + commits[i - 1]).exit_code, 0);
  }
  const CommandResult history = run("study history results/work --metric wall_seconds --repository . --json");
  EXPECT_EQ(history.exit_code, 3) << history.out << history.err;
  const Json json = parse_json(history.out);
  ASSERT_EQ(json["regressions"].size(), 1u) << history.out;
  EXPECT_EQ(json["regressions"][0]["last_before"], commits[1]);
  EXPECT_EQ(json["regressions"][0]["first_after"], commits[6]);
  EXPECT_EQ(json["regressions"][0]["verdict"], "SLOWER");
  std::string found;
  for (const Json& command : json["regressions"][0]["bisect"])
    found = shell("{ " + command.get<std::string>() + "\n} 2>&1");
  EXPECT_NE(found.find(commits[4] + " is the first bad commit"), std::string::npos) << found;

  const CommandResult table = run("study history results/work --metric wall_seconds --repository .");
  EXPECT_NE(table.out.find("1 regression that lasts"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("git bisect run sh -c"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("fewer than 6 builds"), std::string::npos) << table.out;
}

TEST_F(HistoryTest, WithoutAChangeThereIsNoRegression) {
  write_program("0.02");
  write_study(3);
  for (const char* build : {"first", "second"})
    EXPECT_EQ(run(std::string("study run work.yaml --quiet --build ") + build).exit_code, 0);
  // Starting a process takes a few milliseconds more or less: three fifths are no chance.
  const CommandResult history = run("study history results/work --metric wall_seconds --minimum-effect 5");
  EXPECT_EQ(history.exit_code, 0) << history.out << history.err;
  EXPECT_NE(history.out.find("0 regressions that last"), std::string::npos) << history.out;
  const CommandResult nothing = run("study history results/work");
  EXPECT_EQ(nothing.exit_code, 1) << "a program that leaves no record has no speed";
}

}  // namespace
}  // namespace trainyard::cli_test
