#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "place/bounds.h"
#include "place/policy.h"
#include "place/problem.h"
#include "place/simulate.h"

namespace trainyard::place {
namespace {

Job job_of(const std::string& name, std::vector<double> seconds, double arrival = 0) {
  Job job{name, arrival, {}};
  for (const double one : seconds) job.options.push_back({.seconds = one, .true_seconds = one});
  return job;
}

// Makes a slow device and one twice as fast.
Problem two_devices(std::vector<Job> jobs) {
  Problem problem;
  problem.kinds = {{.name = "slow", .watts = 100, .price_per_hour = 1},
                   {.name = "fast", .watts = 300, .price_per_hour = 4}};
  problem.slots = {{"slow", 0}, {"fast", 1}};
  problem.jobs = std::move(jobs);
  return problem;
}

Outcome outcome_of(const Problem& problem, const char* policy) {
  return simulate(problem, find_policy(policy));
}

TEST(PlaceTest, EarliestFinishUsesBothDevices) {
  const Problem problem =
      two_devices({job_of("a", {100, 50}), job_of("b", {100, 50}), job_of("c", {100, 50})});
  const Outcome outcome = outcome_of(problem, "earliest-finish");
  EXPECT_EQ(outcome.decisions[0].slot, 1u);
  EXPECT_EQ(outcome.decisions[1].slot, 0u);  // 100 on either: the first
  EXPECT_EQ(outcome.decisions[2].slot, 1u);
  EXPECT_EQ(outcome.makespan_seconds, 100);
  EXPECT_NEAR(outcome.mean_completion_seconds, (50 + 100 + 100) / 3.0, 1e-12);
  EXPECT_NEAR(outcome.utilisation, 1, 1e-12);
  EXPECT_EQ(outcome.decisions[2].reason, "ends first: waits 50.0 s, runs 50.0 s");
  EXPECT_LE(bounds_of(problem).makespan_seconds, outcome.makespan_seconds);
}

TEST(PlaceTest, OrdersChangeWhoWaits) {
  const Problem problem = two_devices({job_of("long", {400, 200}), job_of("short", {20, 10})});
  EXPECT_EQ(outcome_of(problem, "earliest-finish-shortest").decisions[0].job, 1u);
  EXPECT_EQ(outcome_of(problem, "earliest-finish-longest").decisions[0].job, 0u);
  EXPECT_EQ(outcome_of(problem, "fifo").decisions[0].slot, 0u);
  EXPECT_EQ(outcome_of(problem, "fastest").decisions[1].slot, 1u);
  EXPECT_EQ(outcome_of(problem, "sjf").decisions[0].job, 1u);
}

TEST(PlaceTest, MemoryIsAHardRule) {
  Problem problem = two_devices({job_of("large", {100, 50}), job_of("too large", {1, 1})});
  problem.jobs[0].options[1].fits = false;
  problem.jobs[1].options[0].fits = problem.jobs[1].options[1].fits = false;
  for (const Policy& policy : all_policies()) {
    if (!policy.checks_memory) continue;
    const Outcome outcome = simulate(problem, policy);
    ASSERT_EQ(outcome.decisions.size(), 1u) << policy.name;
    EXPECT_EQ(outcome.decisions[0].slot, 0u) << policy.name;
    EXPECT_EQ(outcome.unplaced, std::vector<std::size_t>{1}) << policy.name;
  }
}

TEST(PlaceTest, CostAndEnergyAreCounted) {
  const Problem problem = two_devices({job_of("a", {3600, 1800})});
  const Outcome cheap = outcome_of(problem, "cheapest"), green = outcome_of(problem, "least-energy");
  EXPECT_EQ(cheap.decisions[0].slot, 0u);  // 1 against 2
  EXPECT_DOUBLE_EQ(cheap.price, 1);
  EXPECT_EQ(green.decisions[0].slot, 0u);  // 0.1 kWh against 0.15
  EXPECT_DOUBLE_EQ(green.energy_joules, 3600 * 100);
  Problem unpriced = problem;
  unpriced.kinds[0].price_per_hour = 0;
  EXPECT_THROW(outcome_of(unpriced, "cheapest"), Error);
}

TEST(PlaceTest, LaterJobsSeeHowEarlierOnesWent) {
  // The first job takes far longer than predicted; a job that comes meanwhile believes that it ends any
  // moment, one that comes later knows what is over.
  Problem problem =
      two_devices({job_of("a", {100, 50}), job_of("b", {100, 60}, 60), job_of("c", {100, 60}, 500)});
  problem.jobs[0].options[1].true_seconds = 300;
  const Outcome outcome = outcome_of(problem, "earliest-finish");
  EXPECT_EQ(outcome.decisions[1].slot, 1u);
  EXPECT_EQ(outcome.decisions[1].expected_end_seconds, 120);
  EXPECT_EQ(outcome.decisions[1].start_seconds, 300);
  EXPECT_EQ(outcome.decisions[2].start_seconds, 500);
  EXPECT_EQ(outcome.makespan_seconds, 560);
}

TEST(PlaceTest, ErrorsAreInjectedAlikeForASeed) {
  Problem a = two_devices({job_of("a", {100, 50})}), b = a, c = a;
  inject_error(a, 0.2, 1);
  inject_error(b, 0.2, 1);
  inject_error(c, 0.2, 2);
  EXPECT_EQ(a.jobs[0].options[0].seconds, b.jobs[0].options[0].seconds);
  EXPECT_NE(a.jobs[0].options[0].seconds, c.jobs[0].options[0].seconds);
  EXPECT_EQ(a.jobs[0].options[0].true_seconds, 100);
}

TEST(LegacyScoreTest, TimesRunOnFromDeviceToDevice) {
  const Job job = job_of("a", {100, 50});
  EXPECT_EQ(legacy_times(job), (std::vector<double>{400, 600}));
  EXPECT_EQ(legacy_times_fixed(job), (std::vector<double>{400, 200}));
  const Problem problem = two_devices({job});
  EXPECT_EQ(outcome_of(problem, "legacy-time").decisions[0].slot, 0u);
  EXPECT_EQ(outcome_of(problem, "legacy-time-fixed").decisions[0].slot, 1u);
}

TEST(LegacyScoreTest, EfficiencyIsPeakOverBurst) {
  Job job = job_of("a", {100, 50});
  EXPECT_THROW(legacy_efficiencies(job), Error);
  job.options[0].use = {{"gpu", 0.5, 0.5, 0.25}, {"cpu", 0, 1, 0}};
  job.options[1].use = {{"gpu", 0.8, 0.2, 0.2}, {"cpu", 0.5, 0.5, 0.5}};
  EXPECT_EQ(legacy_efficiencies(job), (std::vector<double>{0.5, 1.25}));
  // The only job has the largest of every column; the slow device's second column is all zero.
  EXPECT_EQ(LegacyScaling(two_devices({job})).efficiencies(job), (std::vector<double>{1, 2}));
}

TEST(JobsFileTest, JobsAndClustersAreRead) {
  const TestFolder folder;
  const auto jobs = folder.write("jobs.yaml",
                                 "jobs:\n"
                                 "  - {network: lenet, batch: 64, epochs: 10, arrival: 10m}\n"
                                 "  - {name: big, network: vgg16, optimizer: adam, count: 2}\n");
  const auto cluster = folder.write("cluster.yaml",
                                    "slots:\n"
                                    "  - {device: GTX1080, count: 2}\n"
                                    "  - {device: mine, name: mine-0}\n"
                                    "devices:\n"
                                    "  mine: {flops_per_second: 1e12, bytes_per_second: 1e11, memory: 1GiB, "
                                    "multiprocessors: 10}\n");
  const std::vector<JobRequest> requests = read_jobs(jobs);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].arrival_seconds, 600);
  EXPECT_EQ(requests[2].name, "big-2");
  const Cluster read = read_cluster(cluster, predict::known_devices());
  ASSERT_EQ(read.slots.size(), 3u);
  EXPECT_EQ(read.slots[1].name, "GTX1080:2");
  EXPECT_EQ(read.kinds[read.slots[2].kind].memory_bytes, 1024.0 * 1024 * 1024);
  const auto model = predict::make_predictor(predict::TimeModel{});  // nothing seen: by first principles
  const Problem problem = make_problem(requests, read, model.get());
  EXPECT_TRUE(problem.jobs[0].options[1].fits);
  EXPECT_FALSE(problem.jobs[1].options[1].fits);
  EXPECT_GT(problem.jobs[1].options[0].seconds, problem.jobs[0].options[0].seconds);
  EXPECT_THROW(make_problem(requests, read, nullptr), Error);
}

TEST(JobsFileTest, GeneratedNetworksHaveTheirParameters) {
  const TestFolder folder;
  const std::vector<JobRequest> requests =
      read_jobs(folder.write("jobs.yaml",
                             "jobs:\n"
                             "  - {network: transformer, layers: 2}\n"
                             "  - {network: transformer, layers: 8, kv_heads: 2, causal: no}\n"));
  EXPECT_EQ(requests[1].run.parameters,
            (networks::generator::Given{{"causal", "no"}, {"kv_heads", "2"}, {"layers", "8"}}));
  const Cluster cluster =
      read_cluster(folder.write("cluster.yaml", "slots: [{device: GTX1080}]"), predict::known_devices());
  const auto model = predict::make_predictor(predict::TimeModel{});
  const Problem problem = make_problem(requests, cluster, model.get());
  EXPECT_GT(problem.jobs[1].options[0].seconds, 2 * problem.jobs[0].options[0].seconds);
  EXPECT_GT(problem.jobs[1].options[0].need_bytes, 2 * problem.jobs[0].options[0].need_bytes);
}

TEST(JobsFileTest, ADevicesFiguresAreThoseThatWereProbed) {
  const TestFolder folder;
  folder.write("corner.json",
               R"({"threads": 2, "gemm": [], "devices": {"EPYC": {"flops_per_second": 2.5e11, )"
               R"("bytes_per_second": 3e10, "launch_seconds": 4.5e-07, "memory": 25276518400, )"
               R"("multiprocessors": 2.0}}, "provenance": {"cpu": {"model": "EPYC"}}})");
  const auto of_cluster = [&](const std::string& figures) {
    return read_cluster(folder.write("c.yaml", "slots: [{device: here}]\ndevices: {here: " + figures + "}"),
                        {});
  };
  const Cluster read = of_cluster("{probe: corner.json, price_per_hour: 2, multiprocessors: 4}");
  EXPECT_EQ(read.kinds[0], (predict::DeviceSheet{.name = "here",
                                                 .flops_per_second = 2.5e11,
                                                 .bytes_per_second = 3e10,
                                                 .launch_seconds = 4.5e-07,
                                                 .memory_bytes = 25276518400,
                                                 .multiprocessors = 4,
                                                 .price_per_hour = 2}));
  expect_error(ErrorKind::config, "holds no device that `trainyard probe json` measured",
               [&] { of_cluster("{probe: c.yaml}"); });
  expect_error(ErrorKind::config, "c.yaml:2:", [&] { of_cluster("{probe: c.yaml}"); });
  expect_error(ErrorKind::config, "lost.json", [&] { of_cluster("{probe: lost.json}"); });
}

TEST(JobsFileTest, MistakesAreNamedWithTheirPlace) {
  const TestFolder folder;
  const auto complain = [&](const std::string& text, const std::string& part) {
    expect_error(ErrorKind::config, part, [&] { read_jobs(folder.write("jobs.yaml", text)); });
  };
  complain("jobs: [{network: nasnet}]", "jobs.yaml:1:");
  complain("jobs: [{network: nasnet}]", "unknown network 'nasnet'");
  complain("jobs: [{batch: 3}]", "wants a network");
  complain("jobs: [{network: lenet, gpu: 3}]", "a job has no 'gpu'");
  complain("jobs: [{network: lenet, layers: 3}]",
           "jobs.yaml:1:8: layers 3: network 'lenet' has sizes of its own");
  complain("jobs: [{network: transformer, layers: 0}]",
           "layers 0: network 'transformer' takes a whole number from 1 to 4096");
  complain("jobs: [{network: transformer, layers: [1, 2]}]", "one value expected");
  complain("jobs: [{network: transformer, width: 30, heads: 4}]", "is not a whole number for each head");
  complain("work: []", "no key 'work'");
  complain("jobs: []", "no jobs");
  complain("jobs: [{network: lenet, batch: 0}]", "'0' given, a whole number from 1 to 1073741824 expected");
  complain("jobs: [{network: lenet, epochs: nan}]",
           "'nan' given, a number above 0 and at most 1e+09 expected");
  complain("jobs: [{network: lenet, classes: 1}]", "'1' given, a whole number from 2");
  complain("jobs: [{network: lenet, count: 1000000000000}]", "a whole number from 1 to 100000 expected");
  complain("jobs: [{network: lenet, count: 100000}, {network: lenet}]", "more than 100000 jobs");
  complain("jobs: &x [{network: lenet, more: *x}]", "jobs.yaml:1:34: an alias inside of what it stands for");
  expect_error(ErrorKind::config, "unknown device 'Voodoo'", [&] {
    read_cluster(folder.write("c.yaml", "slots: [{device: Voodoo}]"), predict::known_devices());
  });
}

TEST(ClusterFileTest, NumbersAndAliasesHaveLimits) {
  const TestFolder folder;
  const auto complain = [&](const std::string& text, const std::string& part) {
    expect_error(ErrorKind::config, part,
                 [&] { read_cluster(folder.write("c.yaml", text), predict::known_devices()); });
  };
  complain("slots: [{device: GTX1080, count: 99999999999}]", "a whole number from 1 to 100000 expected");
  complain("slots: [{device: GTX1080, count: 100000}, {device: GTX1080}]", "more than 100000 slots");
  complain("devices: {here: {watts: -1}}", "'-1' given, a number above 0 expected");
  complain("devices: {here: {watts: inf}}", "'inf' given, a number above 0");
  complain("devices: &x {here: {watts: *x}}", "an alias inside of what it stands for");
}

TEST(PolicyTest, UnknownOnesAreRefused) {
  expect_error(ErrorKind::usage, "unknown policy 'lifo'", [] { find_policy("lifo"); });
}

}  // namespace
}  // namespace trainyard::place
