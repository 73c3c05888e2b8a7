#include <gtest/gtest.h>

#include "base/json.h"
#include "report/chart.h"
#include "report/test_study.h"

namespace trainyard::report {
namespace {

// Makes a run one of an ensemble of its cell: an image costs 10 ms to make and each member 0.5 ms.
void make_ensemble(record::RunRecord& run, const record::Settings& settings) {
  const std::string design = record::to_text(settings.at("design"));
  const auto members = static_cast<double>(std::get<std::int64_t>(settings.at("members")));
  const double made = design == "baseline" ? 1000 * members : 1000, consumed = 1000 * members;
  run.command = "ensemble";
  run.asked = settings;
  run.images_per_second = 100 / members;
  run.figures = {{"cores_allowed", 2},   {"cpu_seconds", 0.01 * made + 0.0005 * consumed},
                 {"images_made", made},  {"images_consumed", consumed},
                 {"energy_joules", 500}, {"energy_joules_per_image", 0.5},
                 {"power_watts", 50},    {"energy_above_idle_joules_per_image", 0.2}};
  const std::string maker = std::to_string(0.01 * made);
  run.details["members"] = R"([{"member":"preprocessor","process_user_seconds":)" + maker +
                           R"(,"queues":{"names":["ahead"],"samples":[[0,0,0.5],[0.1,0.02,1]]}}])";
}

TEST(EnsembleCharts, ShowPeakReductionCoresQueuesAndEnergy) {
  TestStudy study = make_test_study("e",
                                    {{"design", {word("baseline"), word("shared-memory")}},
                                     {"members", {std::int64_t{1}, std::int64_t{8}}}},
                                    1);
  for (std::size_t i = 0; i < study.runs.size(); ++i) make_ensemble(study.runs[i], study.planned[i].settings);
  std::map<std::string, Chart> charts;
  for (Chart& chart : make_charts(view_of(study))) {
    EXPECT_NE(chart.spec, "") << chart.id << ": " << chart.left_out;
    charts[chart.id] = std::move(chart);
  }
  EXPECT_EQ(charts.size(), 6u);
  const Json reduction = parse_json(charts.at("ensemble-reduction").spec);
  double measured = 0, model = 0;
  for (const Json& row : reduction.at("data").at("values"))
    if (row.at("members") == 8) (row.at("kind") == "run" ? measured : model) = row.at("times").get<double>();
  EXPECT_NEAR(measured, 8 * 1.05 / 1.4, 1e-9);
  EXPECT_NEAR(model, measured, 1e-9);
  EXPECT_NE(charts.at("ensemble-reduction").explanation.find("t = 0.050 for shared-memory"),
            std::string::npos);
  EXPECT_EQ(parse_json(charts.at("ensemble-queues").spec).at("data").at("values").size(), 8u);
}

TEST(EnsembleCharts, AreNoneOfOtherStudies) {
  for (const Chart& chart : make_charts(view_of(make_test_study("s", {{"batch", {std::int64_t{16}}}}, 1))))
    EXPECT_EQ(chart.id.find("ensemble"), std::string::npos) << chart.id;
}

}  // namespace
}  // namespace trainyard::report
