#include "report/page.h"

#include <regex>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "report/charts.h"
#include "report/test_study.h"

namespace trainyard::report {
namespace {

using record::Value;

constexpr const char* kHostile = "</script><b>&\"'";

TestStudy small_study(const std::string& name) {
  return make_test_study(
      name,
      {{"network", {std::string("a"), std::string("bb")}}, {"batch", {std::int64_t{16}, std::int64_t{32}}}},
      2);
}

std::string page_of(const TestStudy& study) {
  const StudyView view = make_study_view(study.name, study.planned, study.runs);
  const std::vector<Library> libraries{
      {"vega", "0.0", "", "run('</script>');\n//# sourceMappingURL=x.map\n", "Copyright of Vega\n"}};
  return make_page(view, make_charts(view), libraries, 1'780'000'000);
}

bool has(const std::string& page, const std::string& part) { return page.find(part) != std::string::npos; }

std::size_t count(const std::string& page, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = page.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(ReportPage, LoadsNothing) {
  const std::string page = page_of(small_study("s"));
  EXPECT_TRUE(has(page, "default-src &#39;none&#39;"));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(<(script|img|iframe|object)[^>]* src=)")));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(<link[^>]* href="(?!data:))")));
  EXPECT_FALSE(has(page, "@import"));
  EXPECT_FALSE(has(page, "sourceMappingURL"));
  EXPECT_FALSE(has(page, "url("));
}

TEST(ReportPage, CarriesLibrariesWithTheirLicence) {
  const std::string page = page_of(small_study("s"));
  EXPECT_TRUE(has(page, "/*!\nvega 0.0\nCopyright of Vega\n*/"));
  EXPECT_TRUE(has(page, "run('<\\/script>');"));
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
}

TEST(ReportPage, SaysInWordsHowFarTheStudyIs) {
  TestStudy study = small_study("s");
  EXPECT_TRUE(has(page_of(study), "All 8 runs are done."));
  EXPECT_TRUE(has(page_of(study), "No run carries a warning."));
  fail_run(study.run(0, 1), record::Status::crash, "signal 11");
  lose_run(study, 1, 2);
  study.run(2, 1).warnings = {{"load", "busy"}, {"steal", "stolen"}};
  const std::string page = page_of(study);
  EXPECT_TRUE(has(page, "6 of 8 runs are done; 1 failed (1 crash); 1 missing.")) << page.substr(0, 9000);
  EXPECT_TRUE(has(page, "2 warnings in 1 run make figures less trustworthy."));
  EXPECT_TRUE(has(page, "<span class=\"badge\">1 crash</span>"));
  EXPECT_TRUE(has(page, "signal 11"));
}

TEST(ReportPage, ResultTableHoldsTheExactNumbers) {
  const TestStudy study = small_study("s");
  const StudyView view = make_study_view(study.name, study.planned, study.runs);
  const std::string page = page_of(study);
  for (const Cell& cell : view.cells) {
    EXPECT_TRUE(has(page, fmt::format("data-figure=\"mean\" data-value=\"{}\"", cell.throughput.mean)));
    EXPECT_TRUE(has(page, fmt::format("data-value=\"{}\" data-high=\"{}\"", cell.throughput.interval.low,
                                      cell.throughput.interval.high)));
  }
}

TEST(ReportPage, FactsThatDifferBetweenNodesStandOut) {
  const std::string page = page_of(small_study("s"));
  EXPECT_TRUE(has(page, "<tr class=\"differs\"><th scope=\"row\">model"));
  EXPECT_TRUE(has(page, "<div>AMD EPYC 7543 <small>node-b</small></div>"));
  EXPECT_EQ(count(page, "<tr class=\"differs\">"),
            1u);  // the load varies between runs, which is no difference
  EXPECT_TRUE(has(page, "64.0 GiB"));
}

TEST(ReportPage, TextOfTheStudyIsNeverMarkup) {
  TestStudy study = make_test_study(kHostile, {{kHostile, {std::string(kHostile), std::string("b")}}}, 2);
  fail_run(study.run(0, 1), record::Status::failed, kHostile);
  record::RunRecord& run = study.run(1, 1);
  run.id = run.node = kHostile;
  run.warnings = {{kHostile, kHostile}};
  run.provenance.push_back({kHostile, kHostile, std::string(kHostile)});
  const std::string page = page_of(study);
  EXPECT_FALSE(has(page, "<b>&\""));
  EXPECT_EQ(count(page, "<script"), count(page, "</script>"));
  EXPECT_GE(count(page, "&lt;/script&gt;&lt;b&gt;&amp;&quot;&#39;"), 8u);
}

}  // namespace
}  // namespace trainyard::report
