#include <gtest/gtest.h>

#include "place/bounds.h"
#include "place/plan.h"
#include "place/policy.h"
#include "place/simulate.h"

namespace trainyard::place {
namespace {

constexpr double kNowhere = std::numeric_limits<double>::infinity();

// Seconds of jobs on two kinds: the second is faster for most, and one job in five does not fit there.
std::vector<std::vector<double>> made_up_seconds(std::size_t jobs, std::uint64_t seed) {
  const Philox random(seed, stream_of("planned jobs"));
  std::vector<std::vector<double>> seconds;
  for (std::size_t job = 0; job < jobs; ++job) {
    const Philox::Block block = random.block(job);
    const double slow = 10 + 1000 * static_cast<double>(to_unit_float(block[0]));
    const double ratio = 0.3 + static_cast<double>(to_unit_float(block[1]));
    seconds.push_back({slow, block[2] % 5 == 0 ? kNowhere : slow * ratio});
  }
  return seconds;
}

PlanInput input_of(const std::vector<std::vector<double>>& seconds, std::vector<std::size_t> kinds,
                   std::vector<double> free) {
  return {
      .jobs = seconds.size(),
      .free_seconds = std::move(free),
      .kinds = kinds,
      .seconds = [seconds, kinds](std::size_t job, std::size_t slot) { return seconds[job][kinds[slot]]; }};
}

// Tries every assignment of jobs to slots; each slot runs its shortest first.
struct Least {
  double completion = kNowhere, makespan = kNowhere;
};
Least least_of_all(const PlanInput& input) {
  Least least;
  std::vector<std::size_t> slot_of(input.jobs, 0);
  while (true) {
    Plan plan(input.slots());
    bool fits = true;
    for (std::size_t job = 0; job < input.jobs; ++job) {
      plan[slot_of[job]].push_back(job);
      fits = fits && input.seconds(job, slot_of[job]) < kNowhere;
    }
    for (std::size_t slot = 0; slot < plan.size() && fits; ++slot)
      std::sort(plan[slot].begin(), plan[slot].end(), [&](std::size_t a, std::size_t b) {
        return input.seconds(a, slot) < input.seconds(b, slot);
      });
    if (fits) least.completion = std::min(least.completion, total_completion(input, plan));
    if (fits) least.makespan = std::min(least.makespan, last_end(input, plan));
    std::size_t at = 0;
    while (at < input.jobs && ++slot_of[at] == input.slots()) slot_of[at++] = 0;
    if (at == input.jobs) return least;
  }
}

std::multiset<std::size_t> all_jobs(const Plan& plan) {
  std::multiset<std::size_t> jobs;
  for (const auto& one : plan) jobs.insert(one.begin(), one.end());
  return jobs;
}

TEST(PlanTest, TheAssignmentIsTheLeastOfAllPlans) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const PlanInput input = input_of(made_up_seconds(7, seed), {0, 1, 0}, {0, 300, 50});
    const Plan plan = assign_least_completion(input);
    EXPECT_EQ(all_jobs(plan), (std::multiset<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
    EXPECT_NEAR(total_completion(input, plan), least_of_all(input).completion, 1e-6) << seed;
  }
}

TEST(PlanTest, TheSearchComesNearTheAssignment) {
  const PlanInput input = input_of(made_up_seconds(150, 3), {0, 1, 0, 1, 1}, std::vector<double>(5, 0.0));
  const double exact = total_completion(input, assign_least_completion(input));
  const Plan plan = search_least_completion(input);
  EXPECT_EQ(all_jobs(plan).size(), 150u);
  EXPECT_GE(total_completion(input, plan), exact * (1 - 1e-9));
  EXPECT_LE(total_completion(input, plan), exact * 1.01);
}

TEST(PlanTest, TheMakespanIsNearTheLeastOfAllPlans) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const PlanInput input = input_of(made_up_seconds(8, seed), {0, 1, 1}, {0, 100, 0});
    const Plan plan = search_least_makespan(input);
    EXPECT_EQ(all_jobs(plan).size(), 8u);
    EXPECT_LE(last_end(input, plan), least_of_all(input).makespan * 1.15) << seed;
  }
}

Problem problem_of(const std::vector<std::vector<double>>& seconds, double gap = 0) {
  Problem problem;
  problem.kinds = {{.name = "slow"}, {.name = "fast"}};
  problem.slots = {{"s1", 0}, {"f1", 1}, {"s2", 0}};
  problem.preemption_seconds = 5;
  for (const auto& of_job : seconds) {
    Job job{.name = "job", .arrival_seconds = gap * static_cast<double>(problem.jobs.size())};
    for (const double one : of_job)
      job.options.push_back({.seconds = one < kNowhere ? one : 1,
                             .true_seconds = one < kNowhere ? one : 1,
                             .fits = one < kNowhere,
                             .truly_fits = one < kNowhere});
    problem.jobs.push_back(job);
  }
  return problem;
}

TEST(BoundsTest, NoPolicyThatKeepsToMemoryGoesBelow) {
  for (const double gap : {0.0, 5.0, 60.0, 300.0}) {
    const Problem problem = problem_of(made_up_seconds(60, 5), gap);
    const Bounds bounds = bounds_of(problem);
    EXPECT_EQ(bounds.exact, gap == 0);
    for (const char* name : {"least-jct", "srpt", "least-makespan", "fair", "fifo", "sjf", "earliest-finish",
                             "earliest-finish-shortest", "earliest-finish-longest"}) {
      const Outcome outcome = simulate(problem, find_policy(name));
      EXPECT_GE(outcome.makespan_seconds, bounds.makespan_seconds * (1 - 1e-9)) << name << gap;
      if (outcome.stops > 0) continue;
      EXPECT_GE(outcome.mean_completion_seconds, bounds.mean_completion_seconds * (1 - 1e-9)) << name << gap;
    }
  }
}

// Jobs that come one by one to devices that are busy: the plan knows nothing of those to come.
TEST(BoundsTest, PlansComeNearThemWithArrivalsWhereJobsWait) {
  const Problem problem = problem_of(made_up_seconds(200, 7), 20);
  const Bounds bounds = bounds_of(problem);
  EXPECT_FALSE(bounds.exact);
  const double jct = simulate(problem, find_policy("least-jct")).mean_completion_seconds;
  EXPECT_LE(jct, 1.05 * bounds.mean_completion_seconds);
  EXPECT_LT(jct, simulate(problem, find_policy("earliest-finish")).mean_completion_seconds);
}

TEST(BoundsTest, PoliciesComeNearThemWhenAllIsKnown) {
  const Problem problem = problem_of(made_up_seconds(200, 6));
  const Bounds bounds = bounds_of(problem);
  EXPECT_NEAR(
      simulate(problem, find_policy("least-jct")).mean_completion_seconds / bounds.mean_completion_seconds, 1,
      1e-9);
  EXPECT_LE(simulate(problem, find_policy("least-makespan")).makespan_seconds,
            1.005 * bounds.makespan_seconds);
}

// Where three jobs keep a device for hours, the bounds are what a person computes.
TEST(BoundsTest, SmallOnesAreKnown) {
  Problem problem = problem_of({{100, 50}, {100, 50}, {100, 50}});
  Bounds bounds = bounds_of(problem);
  EXPECT_NEAR(bounds.mean_completion_seconds, (50 + 100 + 100) / 3.0, 1e-9);
  EXPECT_NEAR(bounds.makespan_seconds, 75, 0.5);  // two slow ones and a fast one do four slow jobs in 100 s
  problem.jobs[2].arrival_seconds = 1000;
  EXPECT_NEAR(bounds_of(problem).makespan_seconds, 1050, 1e-6);
  for (Job& job : problem.jobs) job.options[0].fits = job.options[1].fits = false;
  EXPECT_EQ(bounds_of(problem).makespan_seconds, 0);
}

}  // namespace
}  // namespace trainyard::place
