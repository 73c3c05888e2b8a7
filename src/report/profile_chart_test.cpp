#include <gtest/gtest.h>

#include "base/json.h"
#include "report/chart.h"
#include "report/page.h"
#include "report/test_study.h"

namespace trainyard::report {
namespace {

std::vector<Json> rows_of_kind(const Chart& chart, const std::string& kind) {
  std::vector<Json> found;
  const Json spec = parse_json(chart.spec);
  for (const Json& row : spec.at("data").at("values"))
    if (row.at("kind") == kind) found.push_back(row);
  return found;
}

TEST(ProfileChart, ShowsSignalsWithTheirBursts) {
  TestStudy study = make_test_study("p", {{"batch", {std::int64_t{16}, std::int64_t{64}}}}, 2);
  add_profile(study.run(0, 2));  // of the other replicate nothing is known
  add_profile(study.run(1, 1));
  const Chart chart = make_profile_chart(view_of(study));
  ASSERT_NE(chart.spec, "") << chart.left_out;
  EXPECT_EQ(parse_json(chart.spec)["facet"]["sort"],
            Json({"batch 16: gpu0 busy, %", "batch 16: cpu, cores", "batch 64: gpu0 busy, %",
                  "batch 64: cpu, cores"}));
  const std::vector<Json> bursts = rows_of_kind(chart, "burst"), values = rows_of_kind(chart, "value");
  ASSERT_EQ(bursts.size(), 2u * 3);
  EXPECT_EQ(bursts[0]["from"], 0.5);
  EXPECT_EQ(bursts[0]["to"], 2);
  ASSERT_EQ(values.size(), 2u * 2 * 5);
  EXPECT_DOUBLE_EQ(values[1]["value"].get<double>(), 90);
  EXPECT_EQ(values[4]["seconds"], 2);  // the last value holds until the end
  EXPECT_DOUBLE_EQ(values[4]["value"].get<double>(), 90);
}

TEST(ProfileChart, IsNoneOfOtherStudies) {
  const StudyView view = view_of(make_test_study("s", {{"batch", {std::int64_t{16}}}}, 1));
  EXPECT_EQ(make_profile_chart(view).left_out, "no run was profiled");
  for (const Chart& chart : make_charts(view)) EXPECT_NE(chart.id, "profile");
}

TEST(ProfileChart, WhatIsNoProfileIsLeftOut) {
  TestStudy study = make_test_study("p", {{"batch", {std::int64_t{16}}}}, 1);
  study.run(0, 1).details["profile"] = R"({"signals": []})";
  EXPECT_NE(make_profile_chart(view_of(study)).left_out, "");
}

TEST(ProfileChart, OneProfileHasAPageOfItsOwn) {
  TestStudy study = make_test_study("p", {{"batch", {std::int64_t{16}}}}, 1);
  add_profile(study.run(0, 1));
  const std::string& profile = study.run(0, 1).details.at("profile");
  const Chart chart = make_profile_chart(profile);
  EXPECT_EQ(parse_json(chart.spec)["facet"]["sort"], Json({"gpu0 busy, %", "cpu, cores"}));
  const std::string page = make_profile_page({"sleep <1>", profile, 4, 200}, {chart}, {}, 0);
  EXPECT_NE(page.find("sleep &lt;1&gt;"), std::string::npos);
  EXPECT_NE(page.find("200 samples in 4"), std::string::npos);
  EXPECT_NE(page.find("data-figure=\"burst_share\""), std::string::npos);
  EXPECT_NE(make_profile_chart("{}").left_out, "");
}

}  // namespace
}  // namespace trainyard::report
