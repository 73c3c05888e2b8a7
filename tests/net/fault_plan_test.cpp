#include "net/fault_plan.h"

#include <set>

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::net_test {
namespace {

using Kind = Injection::Kind;

TEST(FaultPlans, AreReadAsTheyWereWritten) {
  std::set<Kind> kinds;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RunShape shape{.workers = 4,
                         .servers = 2,
                         .clock = seed % 2 == 0 ? Injection::Clock::seconds : Injection::Clock::updates,
                         .length = 60};
    const FaultPlan plan = draw_plan(seed, shape);
    ASSERT_EQ(plan.injections.size(), 10u);
    const std::string text = plan.to_string();
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_EQ(FaultPlan::parse(text), plan) << text;
    for (const Injection& injection : plan.injections) kinds.insert(injection.kind);
  }
  EXPECT_EQ(kinds.size(), 9u) << "every kind comes";
}

TEST(FaultPlans, AreTheSameForTheSameSeedOnly) {
  const RunShape shape{.workers = 3, .servers = 2};
  EXPECT_EQ(draw_plan(5, shape), draw_plan(5, shape));
  EXPECT_NE(draw_plan(5, shape).injections, draw_plan(6, shape).injections);
  // The meaning of a line in an old log must not change.
  EXPECT_EQ(draw_plan(7, {.workers = 3, .servers = 2, .injections = 3, .length = 5}).to_string(),
            "seed 7: kill-worker 1 @0.508s; garbage 1 @3.056s by 78; kill-server 0 @3.153s");
}

TEST(FaultPlans, KeepToTheirShape) {
  const RunShape shape{.workers = 3,
                       .servers = 2,
                       .injections = 2000,
                       .length = 20,
                       .kinds = {Kind::stop_worker, Kind::kill_server, Kind::throttle}};
  double before = 0;
  std::set<int> workers, servers;
  for (const Injection& injection : draw_plan(1, shape).injections) {
    EXPECT_LE(before, injection.at);
    EXPECT_LT(injection.at, 20);
    before = injection.at;
    (injection.kind == Kind::kill_server ? servers : workers).insert(injection.target);
    if (injection.kind == Kind::stop_worker) {
      EXPECT_GE(injection.seconds, 0.2);
      EXPECT_LE(injection.seconds, 6);
    }
  }
  EXPECT_EQ(workers, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(servers, (std::set<int>{0, 1}));
}

TEST(FaultPlans, ComeFromACommandLine) {
  const RunShape shape;
  const FaultPlan plan = draw_plan(3, shape);
  EXPECT_EQ(plan_from({}, 3, shape), plan);
  EXPECT_EQ(plan_from({"--seed", "3"}, 1, shape), plan);
  EXPECT_EQ(plan_from({"--plan", plan.to_string()}, 1, shape), plan);
  EXPECT_EQ(FaultPlan::parse("seed 9:"), (FaultPlan{9, {}}));
  for (const char* text : {"seed 9: freeze 1 @0.5s", "seed 9: cut-servers 0 @3u; freeze-servers 0 @4u",
                           "seed 9: delay-servers 0 @3u for 2 by 0.05", "seed 9: stranger 2 @1s by 70"})
    EXPECT_EQ(FaultPlan::parse(text).to_string(), text);
  EXPECT_EQ(FaultPlan::parse("seed 9: stop-server 1 @40u for 3.25").injections[0],
            (Injection{.kind = Kind::stop_server,
                       .target = 1,
                       .clock = Injection::Clock::updates,
                       .at = 40,
                       .seconds = 3.25}));
}

TEST(FaultPlans, SayWhatIsWrong) {
  const auto refuses = [](const char* text, const char* part) {
    expect_error(ErrorKind::config, part, [&] { FaultPlan::parse(text); });
  };
  refuses("", "'seed' was expected");
  refuses("seed x:", "a number was expected at 'x:'");
  refuses("seed 1: explode 0 @1s", "a kind of injection was expected at 'explode 0 @1s'");
  refuses("seed 1: cut 0", "'@' was expected");
  refuses("seed 1: cut -1 @1s", "not negative");
  refuses("seed 1: cut 0 @1", "'s' was expected");
  refuses("seed 1: stop-worker 0 @1s", "'for' was expected");
  refuses("seed 1: delay 0 @1s for 2", "'by' was expected");
  refuses("seed 1: cut 0 @1s for 2", "';' was expected at 'for 2'");
}

}  // namespace
}  // namespace trainyard::net_test
