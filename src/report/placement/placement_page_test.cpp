#include "report/placement/placement_page.h"
#include "base/json.h"

#include <gtest/gtest.h>

#include "report/placement/placement_charts.h"

namespace trainyard::report {
namespace {

// Jobs of two families, one an hour after the others, on a slow device and one twice as fast; the last fits
// nowhere.
PlacementView test_placement(int jobs = 5) {
  PlacementView view{.title = "jobs.yaml"};
  view.problem.kinds = {{.name = "slow", .watts = 100, .price_per_hour = 1},
                        {.name = "fast", .watts = 300, .price_per_hour = 4}};
  view.problem.slots = {{"slow", 0}, {"fast", 1}, {"idle", 0}};
  for (int i = 0; i < jobs; ++i) {
    const double seconds = 3600.0 * (i + 1);
    place::Job job{"job " + std::to_string(i),
                   i == 1 ? 3600.0 : 0.0,
                   {{.seconds = seconds, .true_seconds = seconds},
                    {.seconds = seconds / 2, .true_seconds = seconds / 2}}};
    if (i + 1 == jobs) job.options[0].fits = job.options[1].fits = false;
    view.problem.jobs.push_back(job);
    view.families.push_back(i % 2 == 0 ? "vgg" : "lenet");
  }
  view.shown = "earliest-finish";
  view.outcome = place::simulate(view.problem, place::find_policy(view.shown));
  view.policies = {{view.shown, "as they come", "", view.outcome->mean_completion_seconds,
                    view.outcome->makespan_seconds, view.outcome->utilisation, 0}};
  return view;
}

std::string page_of(const PlacementView& view) {
  return make_placement_page(view, make_placement_charts(view), {}, 1'780'000'000);
}

bool placement_page_has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Json spec_of(const Chart& chart) { return chart.spec.empty() ? Json() : parse_json(chart.spec); }

TEST(PlacementCharts, TheGanttHasABarAJobAndARowADevice) {
  const PlacementView view = test_placement();
  const Json spec = spec_of(make_gantt_chart(view));
  const Json& bars = spec["data"]["values"];
  ASSERT_EQ(bars.size(), 4u);
  EXPECT_EQ(spec["encoding"]["y"]["scale"]["domain"], (Json{"slow", "fast", "idle"}));
  std::map<std::string, double> until;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const place::Placement& decision = view.outcome->decisions[i];
    EXPECT_EQ(bars[i]["start"], decision.start_seconds / 3600);
    EXPECT_EQ(bars[i]["end"], decision.end_seconds / 3600);
    EXPECT_EQ(bars[i]["reason"], decision.reason);
    // A device runs one job at a time.
    EXPECT_GE(bars[i]["start"], until[bars[i]["slot"].get<std::string>()]);
    until[bars[i]["slot"].get<std::string>()] = bars[i]["end"].get<double>();
  }
  EXPECT_EQ(spec["layer"][0]["encoding"]["x"]["title"], "hours from the start");
  EXPECT_EQ(spec["layer"][0]["encoding"]["color"]["scale"]["domain"], (Json{"lenet", "vgg"}));
}

TEST(PlacementCharts, JobsHaveTheirNamesWhereThereIsRoom) {
  const Json few = spec_of(make_jobs_chart(test_placement()));
  EXPECT_EQ(few["encoding"]["y"]["axis"]["labels"], true);
  EXPECT_EQ(few["data"]["values"].size(), 4u);
  const Json many = spec_of(make_jobs_chart(test_placement(385)));
  EXPECT_EQ(many["encoding"]["y"]["axis"]["labels"], false);
  EXPECT_EQ(many["data"]["values"].size(), 384u);
  EXPECT_LE(many["height"]["step"].get<double>() * 384, 900);
  PlacementView twins = test_placement();
  for (place::Job& job : twins.problem.jobs) job.name = "twin";
  std::set<std::string> rows;
  const Json drawn = spec_of(make_jobs_chart(twins));
  for (const Json& row : drawn["data"]["values"]) rows.insert(row["row"].get<std::string>());
  EXPECT_EQ(rows.size(), 4u);
}

TEST(PlacementCharts, WhatIsAbsentIsLeftOut) {
  PlacementView view = test_placement();
  view.families.clear();
  const Json spec = spec_of(make_gantt_chart(view));
  EXPECT_TRUE(spec["layer"][0]["encoding"]["color"].at("legend").is_null());
  view.outcome->decisions.clear();
  EXPECT_EQ(make_gantt_chart(view).left_out, "no job was placed");
  view.outcome.reset();
  view.orders = 20;
  for (const Chart& chart : make_placement_charts(view))
    EXPECT_EQ(chart.left_out, "jobs arrived in 20 orders, and a plan shows one");
  EXPECT_FALSE(placement_page_has(page_of(view), "<section id=\"jobs\""));
  EXPECT_TRUE(placement_page_has(page_of(view), "means over 20 orders"));
}

TEST(PlacementCharts, PoliciesAreComparedWhereThereAreSeveral) {
  PlacementView view = test_placement();
  EXPECT_EQ(make_placement_charts(view).size(), 3u);
  view.policies.push_back({"cheapest", "where it costs least", "a device says no price"});
  view.policies.push_back({"careless", "anywhere", "", 1, 2, 0.5, 3});
  const Chart chart = make_placement_charts(view).front();
  EXPECT_EQ(chart.id, "policies");
  const Json rows = spec_of(chart)["data"]["values"];
  EXPECT_EQ(rows.size(), 2u * 2 + 2);
  EXPECT_EQ(rows[0]["policy"], "careless");
  // Jobs that are lost are no way to be fast.
  EXPECT_EQ(best_policy(view.policies)->name, "earliest-finish");
  EXPECT_TRUE(placement_page_has(page_of(view), "left out: a device says no price"));
}

// A long job of one user is stopped for a short one of another.
TEST(PlacementCharts, StopsUsersAndTheQueueAreShown) {
  PlacementView view{.title = "jobs.yaml"};
  view.problem.kinds = {{.name = "gpu"}};
  view.problem.slots = {{"gpu", 0}};
  view.problem.jobs = {{"long", 0, {{.seconds = 7200, .true_seconds = 7200}}, "<ann>"},
                       {"short", 60, {{.seconds = 30, .true_seconds = 30}}, "bob"}};
  view.shown = "srpt";
  view.bounds = place::bounds_of(view.problem);
  view.outcome = place::simulate(view.problem, place::find_policy(view.shown));
  view.policies = {{.name = view.shown, .mean_completion_seconds = 1, .fairness = 0.9, .stops = 1}};
  const Json bars = spec_of(make_gantt_chart(view))["data"]["values"];
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_EQ(bars[0]["stopped"], true);
  EXPECT_EQ(bars[0]["end"], bars[2]["start"]);
  EXPECT_EQ(bars[1]["start"], bars[2]["end"]);
  EXPECT_EQ(spec_of(make_jobs_chart(view))["data"]["values"].size(), 3u);
  const Json levels = spec_of(make_queue_chart(view))["data"]["values"];
  std::vector<int> waiting;
  for (const Json& row : levels)
    if (row["series"] == "jobs that wait") waiting.push_back(row["count"].get<int>());
  EXPECT_EQ(waiting, (std::vector<int>{0, 1, 0, 0}));
  const std::string page = page_of(view);
  EXPECT_TRUE(placement_page_has(page, "<section id=\"users\""));
  EXPECT_TRUE(placement_page_has(page, "&lt;ann&gt;"));
  EXPECT_TRUE(placement_page_has(page, "</b><span>stops of jobs"));
  EXPECT_FALSE(placement_page_has(page_of(test_placement()), "<section id=\"users\""));
}

TEST(PlacementPage, TablesHoldEveryJobWithItsReason) {
  PlacementView view = test_placement();
  view.outcome->decisions[0].reason = "<b>";
  view.outcome->decisions[1].out_of_memory = true;
  const std::string page = page_of(view);
  EXPECT_TRUE(placement_page_has(page, "4 / 5</b><span>jobs placed"));
  EXPECT_TRUE(placement_page_has(page, "it fits into the memory of no device"));
  EXPECT_TRUE(placement_page_has(page, "&lt;b&gt;"));
  EXPECT_TRUE(placement_page_has(page, "<span class=\"badge\">out of memory</span>"));
  for (std::size_t i = 2; i < 4; ++i)
    EXPECT_TRUE(placement_page_has(page, view.outcome->decisions[i].reason));
  EXPECT_TRUE(placement_page_has(page, "</b><span>kWh of energy"));
  view.outcome->energy_joules = 0;
  EXPECT_FALSE(placement_page_has(page_of(view), "</b><span>kWh of energy"));
}

}  // namespace
}  // namespace trainyard::report
