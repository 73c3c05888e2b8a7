// Tests that `place` says what fits nowhere, and starts jobs of this machine as its policies decide.

#include <fstream>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "cli/made_up_runs.h"

namespace trainyard::cli_test {
namespace {

class PlaceCliTest : public CliTest {
 protected:
  PlaceCliTest() {
    std::ofstream(work() / "runs.csv") << made_up_runs();
    EXPECT_EQ(run("predict fit runs.csv -o model.json --no-intervals").exit_code, 0);
    write("cluster.yaml",
          "slots:\n  - {device: slow, name: here}\n"
          "devices:\n  slow: {flops_per_second: 1e8, bytes_per_second: 1e10, memory: 1GiB, "
          "multiprocessors: 10}\n"
          "preemption: 1\n");
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(work() / name) << text; }
  static std::string words(const std::string& policy, const std::string& more = "") {
    return "place jobs.yaml --cluster cluster.yaml --model model.json --json --policy " + policy + " " + more;
  }
  Json report_of(const std::string& arguments) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out);
  }
  // The job whose run is called like this, as its record tells.
  Json record_of(const std::string& run) {
    return read_json(work() / "placement" / "records" / (run + ".json"));
  }
};

TEST_F(PlaceCliTest, JobsThatFitNowhereAreNamedAndEndWithTwo) {
  write("jobs.yaml",
        "jobs:\n  - {name: small, network: lenet, batch: 2, images: 4}\n"
        "  - {name: large, network: vgg19, batch: 4096, images: 4096, count: 7}\n"
        "  - {name: pair, network: lenet, batch: 2, images: 4, devices: 2, scaling: 0.9}\n");
  const CommandResult some = run(words("least-jct"));
  EXPECT_EQ(some.exit_code, 2);
  EXPECT_EQ(some.err,
            "trainyard: 8 of 9 jobs can be placed nowhere: large-1, large-2, large-3, large-4, large-5 and 3 "
            "more\n");
  const auto report = parse_json(some.out);
  EXPECT_EQ(report["policies"][0]["unplaced"].size(), 8u);
  EXPECT_EQ(report["policies"][0]["decisions"].size(), 1u);
  EXPECT_GE(report["policies"][0]["mean_completion_seconds"], report["mean_completion_bound_seconds"]);
  write("jobs.yaml", "jobs:\n  - {name: large, network: vgg19, batch: 4096, images: 4096}\n");
  const CommandResult none = run(words("all"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.err, "trainyard: 1 of 1 jobs can be placed nowhere: large\n");
  EXPECT_NE(run("place jobs.yaml --cluster cluster.yaml --model model.json")
                .out.find("large nowhere: it fits into the memory of no device"),
            std::string::npos);
}

// While the first one starts and runs, a long one waits and a short one arrives.
TEST_F(PlaceCliTest, TheShortJobThatArrivesGoesBeforeTheLongOneThatWaits) {
  write("jobs.yaml",
        "jobs:\n  - {name: first, network: lenet, batch: 2, images: 80}\n"
        "  - {name: long, network: lenet, batch: 2, images: 40, arrival: 0.05}\n"
        "  - {name: short, network: lenet, batch: 2, images: 4, arrival: 0.1}\n");
  const auto report = report_of(words("sjf", "--submit local"));
  ASSERT_EQ(report["submitted"].size(), 3u);
  for (const auto& one : report["submitted"]) {
    EXPECT_EQ(one["status"], "ok") << one["reason"];
    EXPECT_EQ(one["slot"], "here");
  }
  const auto first = record_of("001-first-r1-a1")["started_seconds"].get<double>();
  const auto short_one = record_of("002-short-r1-a1")["started_seconds"].get<double>();
  EXPECT_LT(first, short_one);
  EXPECT_LT(short_one, record_of("003-long-r1-a1")["started_seconds"]);
}

TEST_F(PlaceCliTest, ArrivalsAreWaitedFor) {
  write("jobs.yaml",
        "jobs:\n  - {name: now, network: lenet, batch: 2, images: 4}\n"
        "  - {name: later, network: lenet, batch: 2, images: 4, arrival: 3}\n");
  for (const std::string policy : {"earliest-finish", "fifo"}) {
    std::filesystem::remove_all(work() / "placement");
    report_of(words(policy, "--submit local"));
    const auto origin = read_json(work() / "placement" / "placement.json")["started_seconds"].get<double>();
    EXPECT_GE(record_of("002-later-r1-a1")["started_seconds"], origin + 3) << policy;
  }
}

TEST_F(PlaceCliTest, ALongJobIsStoppedForAShortOneAndGoesOnFromItsCheckpoint) {
  write("jobs.yaml",
        "jobs:\n  - {name: long, network: lenet, batch: 2, images: 300}\n"
        "  - {name: short, network: lenet, batch: 2, images: 4, arrival: 0.15}\n");
  const auto report = report_of(words("srpt", "--submit local"));
  ASSERT_EQ(report["submitted"].size(), 2u);
  for (const auto& one : report["submitted"]) EXPECT_EQ(one["status"], "ok") << one["reason"];
  const auto stopped = record_of("001-long-r1-a1"), resumed = record_of("001-long-r1-a2");
  EXPECT_EQ(stopped["status"], "interrupted");
  EXPECT_EQ(resumed["status"], "ok");
  EXPECT_GT(resumed["started_seconds"], record_of("002-short-r1-a1")["started_seconds"]);
  EXPECT_TRUE(std::filesystem::exists(work() / "placement" / "runs" / "001-long"));
  expect_failed(run(words("srpt", "--submit slurm --out other")), 1,
                "--submit slurm: policy srpt stops jobs that run");
}

TEST_F(PlaceCliTest, AJobOfTwoDevicesTakesBothSlots) {
  write("cluster.yaml", "slots:\n  - {device: GTX1080, count: 2}\n");
  write("jobs.yaml",
        "jobs:\n  - {name: pair, network: lenet, batch: 4, images: 8, devices: 2, scaling: 0.9}\n"
        "  - {name: lonely, network: lenet, batch: 2, images: 4}\n");
  const auto report = report_of(words("fifo", "--submit local"));
  EXPECT_EQ(report["policies"][0]["decisions"][0]["stretches"][0]["slots"].size(), 2u);
  ASSERT_EQ(report["submitted"].size(), 2u);
  for (const auto& one : report["submitted"]) EXPECT_EQ(one["status"], "ok") << one["reason"];
  EXPECT_EQ(report["submitted"][0]["slot"], "GTX1080:1+GTX1080:2");
  const auto pair = record_of("001-pair-r1-a1"), lonely = record_of("002-lonely-r1-a1");
  EXPECT_EQ(pair["asked"]["devices"], 2);
  EXPECT_GE(lonely["started_seconds"],
            pair["started_seconds"].get<double>() + pair["wall_seconds"].get<double>());
  expect_failed(run(words("fifo", "--submit slurm --out other")), 1,
                "--submit slurm: job 'pair' takes 2 devices");
}

}  // namespace
}  // namespace trainyard::cli_test
