// Tests of where output goes: paths that are checked before the work, special files, a full or closed
// standard output.

#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <future>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/made_up_runs.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

const std::string kEndless = "--network lenet --batch 4 --quiet --steps 1000000000 ";

class OutputsTest : public CliTest {
 protected:
  // By a shell, so that it can be redirected.
  CommandResult run_by_shell(const std::string& arguments, const std::string& redirection) const {
    std::string line;
    for (const std::string& word : trainyard(arguments)) line += "'" + word + "' ";
    return cli_test::run({"/bin/sh", "-c", line + redirection}, options());
  }
};

// Each of these would work for hours, or as long as it can, before it writes.
TEST_F(OutputsTest, TargetsAreLookedAtBeforeTheWork) {
  std::ofstream(work() / "runs.csv") << made_up_runs();
  std::ofstream(work() / "file") << "kept";
  for (const std::string& command :
       {"train " + kEndless + "--record", "train " + kEndless + "--trace",
        "train " + kEndless + "--workers 2 --record", "train " + kEndless + "--workers 2 --mode bsp --record",
        "bench " + kEndless + "--record", "bench " + kEndless + "--trace",
        std::string("predict fit runs.csv -o"), std::string("predict adapt runs.csv --device GTX1080 -o"),
        std::string("predict import weights.pkl -o"),
        std::string("predict eval --runs runs.csv --split network --predictions"),
        std::string("predict eval --runs runs.csv --split network --report"),
        std::string("networks export lenet --to"), std::string("networks stats lenet --to"),
        std::string("networks schema --to"), std::string("study export nowhere --out"),
        std::string("report nowhere --out"), std::string("place jobs.yaml --cluster cluster.yaml --report"),
        std::string("ensemble run nowhere.yaml --record"), std::string("compare nowhere --update --gate")}) {
    SCOPED_TRACE(command);
    expect_failure(command + " nodir/x", 1, "cannot write 'nodir/x': there is no folder 'nodir'");
    expect_failure(command + " .", 1, "cannot write '.': it is a folder");
    expect_failure(command + " file/x", 1, "cannot write 'file/x': Not a directory");
  }
  expect_failure("profile --record nodir/x -- sleep 1000", 1, "cannot write 'nodir/x'");
  expect_failure("profile --trace nodir/x -- sleep 1000", 1, "cannot write 'nodir/x'");
  for (const std::string& command :
       {"train " + kEndless + "--out", std::string("data pack synthetic --images 1000000000 --to"),
        std::string("data pack text /dev/zero --out"),
        std::string("predict fit runs.csv -o m --kind gnn --checkpoints"),
        std::string("predict eval --runs runs.csv --split network --charts"),
        std::string("ensemble run nowhere.yaml --out"), std::string("report nowhere --charts")}) {
    SCOPED_TRACE(command);
    expect_failure(command + " file/x", 1, "cannot make folder 'file/x'");
    expect_failure(command + " /proc/x", 1, "cannot write into folder '/proc/x'");
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(work()), {}), 2) << "no debris";
}

TEST_F(OutputsTest, TheTraceBesideARecordIsLookedAtToo) {
  fs::create_directory(work() / "x.trace.csv");
  expect_failure("profile --record x.json -- sleep 1000", 1, "'x.trace.csv': it is a folder");
}

TEST_F(OutputsTest, SpecialFilesAreWrittenThrough) {
  fs::create_symlink("/dev/null", work() / "null");
  std::ofstream(work() / "real") << "old";
  fs::create_symlink("real", work() / "link");
  ASSERT_EQ(::mkfifo((work() / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(run("networks stats lenet --to null").exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(work() / "null") && fs::is_character_file("/dev/null"));
  EXPECT_EQ(run("networks stats lenet --to link").exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(work() / "link"));
  const auto content = [&](const char* name) {
    std::ifstream stream(work() / name);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  EXPECT_TRUE(content("real").starts_with("operation,")) << content("real");
  auto reader = std::async(std::launch::async, [&] { return content("fifo"); });
  EXPECT_EQ(run("networks stats lenet --to fifo").exit_code, 0);
  EXPECT_EQ(reader.get(), content("real"));
  EXPECT_TRUE(fs::is_fifo(work() / "fifo"));
  const CommandResult both =
      run("bench --network lenet --batch 2 --steps 2 --no-peak --json --record /dev/stdout");
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_EQ(std::count(both.out.begin(), both.out.end(), '\n'), 2) << "the record, and the same by --json";
}

TEST_F(OutputsTest, AFullStandardOutputIsAnError) {
  const std::string bench = "bench --network lenet --batch 2 --steps 2 --no-peak ";
  for (const std::string& arguments :
       {bench + "--json", bench + "--record kept.json", std::string("networks"),
        std::string("networks --json"), std::string("--help"), std::string("--version"),
        std::string("explain lenet")}) {
    SCOPED_TRACE(arguments);
    const CommandResult result = run_by_shell(arguments, "> /dev/full");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.err, "trainyard: cannot write standard output: No space left on device\n");
  }
  EXPECT_TRUE(read_json(work() / "kept.json").contains("step_seconds")) << "what else was asked for is there";
  EXPECT_EQ(run_by_shell("networks export lenet --to x.dot", "> /dev/full 2> /dev/full").exit_code, 2);
  EXPECT_EQ(run_by_shell("nonsense", "2> /dev/full").exit_code, 1) << "and no crash where nobody can be told";
}

TEST_F(OutputsTest, AFullStandardErrorEndsNoWork) {
  const CommandResult result =
      run_by_shell("train --network lenet --batch 4 --steps 4 --eval-every 2 --json", "2> /dev/full");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(parse_json_or_discard(result.out)["final_step"], 4);
  std::ofstream(work() / "two.yaml") << "study: two\nrun: program\nprogram: ['true']\nreplicates: 2\n";
  EXPECT_EQ(run_by_shell("study run two.yaml", "2> /dev/full").exit_code, 0);
}

TEST_F(OutputsTest, AClosedStandardOutputIsAnError) {
  const CommandResult result =
      run_by_shell("bench --network lenet --batch 2 --steps 2 --no-peak --record kept.json", ">&-");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "trainyard: cannot write standard output: Bad file descriptor\n");
  std::ifstream kept(work() / "kept.json");
  const std::string text{std::istreambuf_iterator<char>(kept), {}};
  EXPECT_TRUE(is_json(text)) << "no file took the place of standard output: " << text;
}

TEST_F(OutputsTest, AClosedPipeEndsQuietly) {
  const auto ended = [&](const std::string& before) {
    // The reader has closed its end before the first byte comes.
    const std::string command =
        "(while [ ! -e closed ]; do sleep 0.01; done; exec " + trainyard("")[0] + " networks --json)";
    fs::remove(work() / "closed");
    return cli_test::run(
        {"/bin/bash", "-c", before + command + " | (exec <&-; touch closed); echo ${PIPESTATUS[0]}"},
        options());
  };
  const CommandResult quiet = ended("");
  EXPECT_EQ(quiet.out, "141\n");
  EXPECT_EQ(quiet.err, "");
  const CommandResult ignored = ended("trap '' PIPE; ");
  EXPECT_EQ(ignored.out, "2\n");
  EXPECT_EQ(ignored.err, "trainyard: cannot write standard output: Broken pipe\n");
}

}  // namespace
}  // namespace trainyard::cli_test
