// Tests of policies that decide at events: who goes next, gangs, stops, users.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "place/policy.h"
#include "place/simulate.h"

namespace trainyard::place {
namespace {

Job event_job(const std::string& name, double seconds, double arrival = 0) {
  return {name, arrival, {{.seconds = seconds, .true_seconds = seconds}}};
}

// Devices of one kind.
Problem alike(std::size_t devices, std::vector<Job> jobs) {
  Problem problem;
  problem.kinds = {{.name = "gpu"}};
  for (std::size_t i = 0; i < devices; ++i) problem.slots.push_back({fmt::format("g{}", i + 1), 0, "box"});
  problem.jobs = std::move(jobs);
  problem.preemption_seconds = 10;
  return problem;
}

const Placement& placed(const Problem& problem, const Outcome& outcome, const std::string& name) {
  for (const Placement& one : outcome.decisions)
    if (problem.jobs[one.job].name == name) return one;
  throw std::out_of_range(name);
}

// No device runs two jobs at once, and no job begins before it arrives.
void expect_sound(const Problem& problem, const Outcome& outcome) {
  std::vector<std::vector<std::pair<double, double>>> busy(problem.slots.size());
  for (const Placement& one : outcome.decisions) {
    EXPECT_GE(one.start_seconds, problem.jobs[one.job].arrival_seconds);
    for (const Stretch& stretch : one.stretches) {
      EXPECT_EQ(stretch.slots.size(), static_cast<std::size_t>(problem.jobs[one.job].devices));
      for (const std::size_t slot : stretch.slots)
        busy[slot].emplace_back(stretch.start_seconds, stretch.end_seconds);
    }
  }
  for (auto& stretches : busy) {
    std::sort(stretches.begin(), stretches.end());
    for (std::size_t i = 1; i < stretches.size(); ++i)
      EXPECT_GE(stretches[i].first, stretches[i - 1].second - 1e-9);
  }
}

TEST(EventPolicyTest, AShortJobThatArrivesLaterGoesBeforeLongOnesThatWait) {
  const Problem problem = alike(1, {event_job("first", 3000), event_job("long", 3000, 1),
                                    event_job("longer", 4000, 2), event_job("short", 9, 60)});
  const Outcome fifo = simulate(problem, find_policy("fifo")), sjf = simulate(problem, find_policy("sjf"));
  EXPECT_EQ(placed(problem, fifo, "short").start_seconds, 10000);
  EXPECT_EQ(placed(problem, sjf, "short").start_seconds, 3000);
  EXPECT_EQ(placed(problem, simulate(problem, find_policy("least-jct")), "short").start_seconds, 3000);
  EXPECT_LT(sjf.mean_completion_seconds, fifo.mean_completion_seconds);
  expect_sound(problem, sjf);
}

TEST(EventPolicyTest, ALongJobIsStoppedForAShortOneAndGoesOn) {
  const Problem problem = alike(1, {event_job("long", 3000), event_job("short", 9, 60)});
  const Outcome outcome = simulate(problem, find_policy("srpt"));
  expect_sound(problem, outcome);
  EXPECT_EQ(outcome.stops, 1u);
  EXPECT_EQ(placed(problem, outcome, "short").end_seconds, 69);
  const Placement& stopped = placed(problem, outcome, "long");
  ASSERT_EQ(stopped.stretches.size(), 2u);
  EXPECT_EQ(stopped.stretches[0].end_seconds, 60);
  EXPECT_EQ(stopped.end_seconds, 69 + 10 + 2940);  // what a stop costs, and what was left
  EXPECT_EQ(stopped.ran_seconds(), 60 + 10 + 2940);
  // A stop that costs more than it gains is not made.
  Problem dear = problem;
  dear.preemption_seconds = 5000;
  EXPECT_EQ(simulate(dear, find_policy("srpt")).stops, 0u);
}

TEST(EventPolicyTest, JobsOfSeveralDevicesGetThemTogether) {
  Problem problem = alike(4, {event_job("a", 100), event_job("b", 300), event_job("gang", 50),
                              event_job("fits before", 150), event_job("too long", 1000)});
  problem.jobs[2].devices = 4;
  for (const char* name : {"fifo", "sjf", "fair", "least-jct", "least-makespan"}) {
    const Outcome outcome = simulate(problem, find_policy(name));
    EXPECT_EQ(outcome.decisions.size(), 5u) << name;
    expect_sound(problem, outcome);
  }
  const Outcome outcome = simulate(problem, find_policy("fifo"));
  // The gang has four devices when b ends; who ends before may use them until then.
  EXPECT_EQ(placed(problem, outcome, "gang").start_seconds, 300);
  EXPECT_EQ(placed(problem, outcome, "fits before").start_seconds, 0);
  EXPECT_EQ(placed(problem, outcome, "too long").start_seconds, 350);
  EXPECT_EQ(placed(problem, outcome, "gang").device_seconds(), 200);
  expect_error(ErrorKind::config, "policy srpt: job 'gang' takes 4 devices",
               [&] { simulate(problem, find_policy("srpt")); });
  expect_error(ErrorKind::config, "policy fastest: job 'gang' takes 4 devices",
               [&] { simulate(problem, find_policy("fastest")); });
}

TEST(EventPolicyTest, AJobMayAskForDevicesOfOneMachine) {
  Problem problem = alike(4, {event_job("a", 100), event_job("b", 200), event_job("pair", 50)});
  problem.slots[0].node = problem.slots[1].node = "left";
  problem.slots[2].node = problem.slots[3].node = "right";
  // "a" has left, "b" would take the next free device, which is left, too.
  problem.jobs[2].devices = 2;
  problem.jobs[2].one_node = true;
  EXPECT_EQ(placed(problem, simulate(problem, find_policy("fifo")), "pair").stretches[0].slots,
            (std::vector<std::size_t>{2, 3}));
  std::swap(problem.slots[1].node, problem.slots[2].node);
  const Outcome outcome = simulate(problem, find_policy("fifo"));
  EXPECT_EQ(placed(problem, outcome, "pair").start_seconds, 100);
  EXPECT_EQ(placed(problem, outcome, "pair").stretches[0].slots, (std::vector<std::size_t>{2, 0}));
}

TEST(EventPolicyTest, TheUserWhoGotLeastGoesFirst) {
  std::vector<Job> jobs;
  for (int i = 0; i < 12; ++i) jobs.push_back(event_job(fmt::format("many-{}", i), 100));
  for (int i = 0; i < 2; ++i) jobs.push_back(event_job(fmt::format("few-{}", i), 100));
  Problem problem = alike(2, jobs);
  for (Job& job : problem.jobs) job.user = job.name.substr(0, job.name.find('-'));
  const Outcome fair = simulate(problem, find_policy("fair")), fifo = simulate(problem, find_policy("fifo"));
  EXPECT_EQ(placed(problem, fair, "few-0").start_seconds, 0);
  EXPECT_EQ(placed(problem, fair, "few-1").start_seconds, 100);
  EXPECT_EQ(placed(problem, fifo, "few-0").start_seconds, 600);
  ASSERT_EQ(fair.users.size(), 2u);
  EXPECT_EQ(fair.users[0].user, "few");
  EXPECT_EQ(fair.users[0].jobs, 2u);
  EXPECT_EQ(fair.users[0].mean_completion_seconds, 150);
  // Alone on devices half as fast both jobs would take 200 s.
  EXPECT_NEAR(fair.users[0].finish_time_fairness, 0.75, 1e-12);
  EXPECT_EQ(fifo.users[0].mean_completion_seconds, 700);
  EXPECT_NEAR(fifo.users[0].finish_time_fairness, 3.5, 1e-12);
  EXPECT_GT(fair.fairness, fifo.fairness);
  EXPECT_LE(fair.fairness, 1);
  EXPECT_EQ(simulate(alike(1, {event_job("a", 1)}), find_policy("fair")).fairness, 0) << "no users";
}

TEST(EventPolicyTest, SlowDownsCountTenSecondsAtLeast) {
  const Outcome outcome = simulate(alike(1, {event_job("a", 100), event_job("b", 1)}), find_policy("fifo"));
  EXPECT_NEAR(outcome.mean_slowdown, (1 + 101.0 / 10) / 2, 1e-12);
  EXPECT_EQ(outcome.median_completion_seconds, 100.5);
}

// Predictions that are wrong change who goes when, and nobody is lost.
TEST(EventPolicyTest, EveryJobEndsWhateverIsPredicted) {
  std::vector<Job> jobs;
  for (int i = 0; i < 80; ++i) jobs.push_back(event_job(fmt::format("{}", i), 10 + 37 * (i % 7), 9.0 * i));
  Problem problem = alike(3, jobs);
  inject_error(problem, 1, 3);
  for (const char* name : {"least-jct", "srpt", "least-makespan", "fair", "fifo", "sjf"}) {
    const Outcome outcome = simulate(problem, find_policy(name));
    EXPECT_EQ(outcome.decisions.size(), 80u) << name;
    expect_sound(problem, outcome);
  }
}

TEST(JobsFileTest, DevicesUsersAndMachinesAreRead) {
  const TestFolder folder;
  const std::vector<JobRequest> requests = read_jobs(folder.write(
      "jobs.yaml",
      "jobs: [{network: lenet, batch: 64, devices: 4, scaling: 0.5, one_node: yes, user: ann}]"));
  EXPECT_EQ(requests[0].user, "ann");
  const auto cluster = [&](const std::string& slots) {
    return read_cluster(folder.write("cluster.yaml", "preemption: 2m\nslots: " + slots),
                        predict::known_devices());
  };
  const auto model = predict::make_predictor(predict::TimeModel{});
  const Problem together = make_problem(requests, cluster("[{device: T4, count: 4, node: n1}]"), model.get());
  EXPECT_EQ(together.preemption_seconds, 120);
  EXPECT_EQ(together.jobs[0].devices, 4);
  EXPECT_TRUE(together.jobs[0].options[0].fits);
  const Problem apart = make_problem(
      requests, cluster("[{device: T4, count: 2, node: n1}, {device: T4, count: 2, node: n2}]"), model.get());
  EXPECT_FALSE(apart.jobs[0].options[0].fits);
  EXPECT_EQ(why_nowhere(apart.jobs[0]), "no kind of device has 4 in one machine that it fits on");
  // A quarter of each batch, and half of the speed is lost.
  std::vector<JobRequest> one = requests;
  one[0].devices = 1;
  one[0].run.batch = 16;
  one[0].run.images_per_epoch /= 4;
  const Problem single = make_problem(one, cluster("[{device: T4}]"), model.get());
  EXPECT_NEAR(together.jobs[0].options[0].seconds, 2 * single.jobs[0].options[0].seconds, 1e-9);
  const auto complain = [&](const std::string& text, const std::string& part) {
    expect_error(ErrorKind::config, part, [&] { read_jobs(folder.write("jobs.yaml", text)); });
  };
  complain("jobs: [{network: lenet, batch: 64, devices: 4}]", "a job of 4 devices wants 'scaling'");
  complain("jobs: [{network: lenet, batch: 63, devices: 4, scaling: 1}]",
           "batch 63 is not a whole number for each of 4 devices");
  complain("jobs: [{network: lenet, scaling: 2}]", "a number from 0.001 to 1");
}

}  // namespace
}  // namespace trainyard::place
