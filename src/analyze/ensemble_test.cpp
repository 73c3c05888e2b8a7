#include "analyze/ensemble.h"

#include <gtest/gtest.h>

namespace trainyard::analyze {
namespace {

// Makes a record of so many members on two cores. Making an image costs 10 ms, and each member adds 0.7 ms of
// its own.
record::RunRecord ensemble_record(const std::string& design, int members, double images_per_second) {
  constexpr double kMake = 0.010, kOwn = 0.0007, kImages = 1000;
  const bool shared = design != "baseline";
  const double made = shared ? kImages : kImages * members, consumed = kImages * members;
  record::RunRecord run;
  run.id = design + std::to_string(members);
  run.command = "ensemble";
  run.asked = {{"design", design}, {"members", std::int64_t{members}}, {"preprocessors", std::int64_t{1}}};
  run.images_per_second = images_per_second;
  run.figures = {{"cores_allowed", 2},
                 {"cpu_seconds", made * kMake + consumed * kOwn},
                 {"cpu_user_seconds", made * kMake},
                 {"images_consumed", consumed},
                 {"images_made", made}};
  run.started_seconds = 1000;
  run.wall_seconds = 50;
  std::string rows;
  for (int i = 0; i < members; ++i)
    rows +=
        std::string(rows.empty() ? "" : ",") +
        R"({"member":"lenet","seconds":40,"startup_seconds":2,"process_user_seconds":100,"threads":[{"name":"maker","user_seconds":)" +
        std::to_string(shared ? 0.0 : kImages * kMake) + R"(,"system_seconds":0}]})";
  if (shared)
    rows += R"(,{"member":"preprocessor","process_user_seconds":)" + std::to_string(kImages * kMake) + "}";
  run.details["members"] = "[" + rows + "]";
  return run;
}

TEST(EnsembleAnalysis, ReductionsFollowTheModelWithTheMeasuredShare) {
  std::vector<record::RunRecord> records;
  for (const int members : {1, 2, 4, 8}) {
    records.push_back(ensemble_record("baseline", members, 100));
    records.push_back(ensemble_record("shared-memory", members, 100));
  }
  const auto reductions = cpu_reductions(ensemble_runs(records));
  ASSERT_EQ(reductions.size(), 4u);
  for (const CpuReduction& one : reductions) {
    EXPECT_NEAR(one.t, 0.07, 1e-9);
    EXPECT_NEAR(one.measured, one.model, 1e-9);
  }
  // AlexNet of the paper: t = 0.07.
  EXPECT_NEAR(reduction_model(10, 0.07), 6.29, 0.01);
  EXPECT_NEAR(reductions.back().measured, reduction_model(8, 0.07), 1e-9);
}

TEST(EnsembleAnalysis, SpeedupsAreOfEqualMembersAndCores) {
  std::vector<record::RunRecord> records{ensemble_record("baseline", 4, 50),
                                         ensemble_record("all-shared", 4, 150),
                                         ensemble_record("all-shared", 8, 150)};
  const auto speedups = core_speedups(ensemble_runs(records));
  ASSERT_EQ(speedups.size(), 1u);
  EXPECT_EQ(speedups[0].speedup, 3);
}

TEST(EnsembleAnalysis, TablesAreThoseOfTheScripts) {
  std::vector<record::RunRecord> records{ensemble_record("baseline", 10, 50),
                                         ensemble_record("baseline", 2, 60),
                                         ensemble_record("baseline", 2, 61)};
  record::RunRecord other;
  other.command = "bench";
  records.push_back(other);
  const auto runs = ensemble_runs(records);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(analyze_output_csv(std::span(runs).subspan(1, 1)),
            "baseline,lenet,1,40.0,2,2.0,2,20.0,baseline2,1000,1050,1070.0,60.000,2,1\n");
  EXPECT_EQ(modify_csv(runs),
            "baseline,lenet,02,20.0,1070.0\nbaseline,lenet,02,20.0,1070.0\nbaseline,lenet,10,100.0,5350.0\n");
  EXPECT_EQ(gen_peak_csv(runs), "baseline,2,60.500\nbaseline,10,50.000\n");
}

}  // namespace
}  // namespace trainyard::analyze
