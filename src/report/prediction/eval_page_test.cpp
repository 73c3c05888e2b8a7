#include "report/prediction/eval_page.h"
#include "base/json.h"

#include <gtest/gtest.h>

#include "report/prediction/eval_charts.h"

namespace trainyard::report {
namespace {

using predict::Judged;

// Two networks on two devices, twice as large batches each time; one run in four out of memory.
EvalView test_evaluation() {
  EvalView view{.title = "runs.csv", .method = "Each network in turn was held out."};
  for (const char* device : {"old", "new"})
    for (const char* network : {"lenet", "vgg11"})
      for (const std::int64_t batch : {8, 16, 32, 64}) {
        const double measured = 10000.0 / static_cast<double>(batch);
        const double factor = network == std::string("vgg11") ? 1.2 : 1.05;
        const bool oom = batch == 64;
        Judged one{view.runs.size(),
                   measured,
                   factor * measured,
                   0.9 * measured,
                   1.15 * measured,
                   oom,
                   oom && device[0] == 'o' ? 0.95 : 0.1};
        if (network == std::string("vgg11")) one.low = 1.1 * measured, one.high = 1.3 * measured;
        view.judged.push_back(one);
        view.runs.push_back({network, device, network == std::string("vgg11") ? "vgg" : "lenet", "adam",
                             "cifar10", batch, 10});
      }
  return view;
}

std::string page_of(const EvalView& view) {
  return make_eval_page(view, make_eval_charts(view), {{"vega", "0.0", "", "run();", "Copyright\n"}},
                        1'780'000'000);
}

const Chart& chart_named(const std::vector<Chart>& charts, const std::string& id) {
  for (const Chart& chart : charts)
    if (chart.id == id) return chart;
  ADD_FAILURE() << "no chart " << id;
  return charts.front();
}

std::vector<Json> rows_of(const Chart& chart, const std::string& kind = "") {
  std::vector<Json> rows;
  const Json spec = parse_json(chart.spec);
  for (const Json& row : spec["data"]["values"])
    if (kind.empty() || row["kind"] == kind) rows.push_back(row);
  return rows;
}

bool eval_page_has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(EvalCharts, EveryRunThatEndedWellIsAPointWithItsInterval) {
  const Chart chart = make_predicted_chart(test_evaluation());
  const std::vector<Json> runs = rows_of(chart, "run");
  ASSERT_EQ(runs.size(), 12u);
  for (const Json& run : runs) {
    EXPECT_LT(run["low"], run["high"]);
    EXPECT_NE(run["batch"], 64);
    EXPECT_EQ(run["panel"], run["device"]);
    EXPECT_NEAR(run["error"].get<double>(), run["network"] == "vgg11" ? 0.2 : 0.05, 1e-12);
  }
  // Three lines a panel, whose ends lie within the square.
  const std::vector<Json> ends = rows_of(chart, "line");
  EXPECT_EQ(ends.size(), 2u * 3 * 2);
  const Json spec = parse_json(chart.spec);
  const Json domain = spec["spec"]["layer"][0]["encoding"]["x"]["scale"]["domain"];
  for (const Json& end : ends)
    for (const char* field : {"measured", "predicted"}) {
      EXPECT_GE(end[field], domain[0].get<double>() * (1 - 1e-12));
      EXPECT_LE(end[field], domain[1].get<double>() * (1 + 1e-12));
    }
  EXPECT_EQ(spec["spec"]["layer"][2]["encoding"]["color"]["scale"]["domain"], (Json{"lenet", "vgg"}));
}

TEST(EvalCharts, RunsOffByMoreThanTheirIntervalDoNotCrossZero) {
  const std::vector<Json> runs = rows_of(make_off_chart(test_evaluation()), "run");
  ASSERT_EQ(runs.size(), 12u);
  for (const Json& run : runs) {
    const bool holds = run["low"] <= run["measured"] && run["measured"] <= run["high"];
    EXPECT_EQ(holds, run["network"] == "lenet");
  }
}

TEST(EvalCharts, ErrorsAreSortedAndCounted) {
  const std::vector<Chart> charts = make_eval_charts(test_evaluation());
  const std::vector<Json> families = rows_of(chart_named(charts, "errors-family"));
  ASSERT_EQ(families.size(), 2u);
  EXPECT_EQ(families[0]["part"], "vgg (6 runs)");
  EXPECT_NEAR(families[0]["median"].get<double>(), 20, 1e-9);
  EXPECT_NEAR(families[1]["p95"].get<double>(), 5, 1e-9);
  EXPECT_EQ(rows_of(chart_named(charts, "errors-device")).size(), 2u);
  const std::vector<Json> covered = rows_of(chart_named(charts, "coverage"), "part");
  EXPECT_EQ(covered[0]["part"], "vgg (6 runs)");  // its intervals hold nothing
  EXPECT_NEAR(covered[0]["covered"].get<double>(), 0, 1e-9);
  EXPECT_NEAR(covered[1]["covered"].get<double>(), 100, 1e-9);
}

TEST(EvalCharts, WhatIsAbsentIsLeftOut) {
  EvalView view = test_evaluation();
  for (Judged& one : view.judged) one.low = one.high = one.predicted;
  EXPECT_TRUE(eval_page_has(chart_named(make_eval_charts(view), "coverage").left_out,
                            "no prediction has an interval"));
  for (const Json& run : rows_of(make_predicted_chart(view), "run")) EXPECT_FALSE(run.contains("low"));
  for (PredictedRun& run : view.runs) run.family = "";
  std::vector<Chart> charts = make_eval_charts(view);
  EXPECT_EQ(chart_named(charts, "errors-family").left_out, "no run says its family");
  const Json spec = parse_json(charts[0].spec);
  EXPECT_TRUE(spec["spec"]["layer"][2]["encoding"]["color"].at("legend").is_null());
  EXPECT_FALSE(eval_page_has(page_of(view), "data-scores=\"family\""));
  EXPECT_FALSE(eval_page_has(page_of(view), "within 90 % intervals"));
  for (Judged& one : view.judged) one.oom = true;
  EXPECT_EQ(make_predicted_chart(view).left_out, "no run ended well");
  EXPECT_TRUE(eval_page_has(page_of(view), "No run ended well."));
  view.judged.clear();
  EXPECT_TRUE(eval_page_has(page_of(view), "0 predictions of 0 networks"));
}

TEST(EvalCharts, ManyPredictionsAreThinnedAndSaySo) {
  EvalView view = test_evaluation();
  const std::vector<Judged> once = view.judged;
  for (int seed = 1; seed < 300; ++seed) view.judged.insert(view.judged.end(), once.begin(), once.end());
  const Chart chart = make_predicted_chart(view);
  EXPECT_EQ(rows_of(chart, "run").size(), 1800u);
  EXPECT_TRUE(eval_page_has(chart.explanation, "One of 2 of 3600 predictions.")) << chart.explanation;
}

TEST(EvalPage, TablesHoldTheScoresAndTheRunsOutOfMemory) {
  EvalView view = test_evaluation();
  view.skipped["<nasnet>"] = 3;
  const std::string page = page_of(view);
  const predict::Score all = predict::score(view.judged);
  EXPECT_TRUE(eval_page_has(page, fmt::format("data-figure=\"mape\" data-value=\"{}\"", all.mape)));
  for (const char* table : {"all", "family", "device", "network"})
    EXPECT_TRUE(eval_page_has(page, fmt::format("data-scores=\"{}\"", table))) << table;
  EXPECT_FALSE(eval_page_has(page, "data-scores=\"held out\""));
  EXPECT_TRUE(eval_page_has(page, "2 of 4 runs out of memory were foreseen, with 0 false alarms."));
  EXPECT_TRUE(eval_page_has(page, "<span class=\"badge\">missed</span>"));
  EXPECT_TRUE(eval_page_has(page, "data-figure=\"missed\" data-value=\"2\""));
  EXPECT_TRUE(eval_page_has(page, "Left out: 3 runs of &lt;nasnet&gt;"));
  EXPECT_TRUE(eval_page_has(page, "+20.0 %"));
}

TEST(EvalPage, PeakMemoryIsShownWhereItWasMeasured) {
  EvalView view = test_evaluation();
  EXPECT_FALSE(eval_page_has(page_of(view), "mean error of peak memory"));
  view.judged[0].measured_bytes = 100e6;
  view.judged[0].predicted_bytes = 125e6;
  const std::string page = page_of(view);
  EXPECT_TRUE(eval_page_has(page, "mean error of peak memory"));
  EXPECT_TRUE(eval_page_has(page, "data-figure=\"memory_mape\" data-value=\"0.25\""));
}

TEST(EvalPage, TextOfRunsIsNeverMarkup) {
  EvalView view = test_evaluation();
  view.title = view.runs[0].network = view.runs[0].family = view.runs[0].device = "</script><b>";
  EXPECT_FALSE(eval_page_has(page_of(view), "<b></"));
  EXPECT_FALSE(eval_page_has(page_of(view), "<h1></script>"));
}

}  // namespace
}  // namespace trainyard::report
