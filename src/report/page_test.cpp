#include "report/page.h"

#include <regex>

#include <gtest/gtest.h>

#include "report/chart.h"
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
  for (const CellView& cell : view.cells) {
    EXPECT_TRUE(has(page, fmt::format("data-figure=\"mean\" data-value=\"{}\"", cell.throughput.mean)));
    EXPECT_TRUE(has(page, fmt::format("data-value=\"{}\" data-high=\"{}\"", cell.throughput.interval.low,
                                      cell.throughput.interval.high)));
  }
}

TEST(ReportPage, SpreadOfRunsIsToldWithinNodesThatDiffer) {
  TestStudy study = make_test_study("s", {{"batch", {std::int64_t{16}, std::int64_t{64}}}}, 6);
  for (int replicate = 1; replicate <= 6; ++replicate) {
    record::RunRecord& run = study.run(0, replicate);
    run.node = replicate % 2 == 0 ? "slow" : "fast";
    run.images_per_second = (replicate % 2 == 0 ? 100 : 200) + 0.1 * replicate;
  }
  EXPECT_TRUE(has(page_of(study), "within 2 nodes"));
}

TEST(ReportPage, FactsThatDifferBetweenNodesStandOut) {
  const std::string page = page_of(small_study("s"));
  EXPECT_TRUE(has(page, "<tr class=\"differs\"><th scope=\"row\">model"));
  EXPECT_TRUE(has(page, "<div>AMD EPYC 7543 <small>node-b</small></div>"));
  EXPECT_EQ(count(page, "<tr class=\"differs\">"),
            1u);  // the load varies between runs, which is no difference
  EXPECT_TRUE(has(page, "64.0 GiB"));
}

TEST(ReportPage, SettingsThatAllShareAreSaidOnce) {
  const std::string page = page_of(small_study("s"));
  EXPECT_TRUE(has(page, "Everywhere: <b>optimizer adam</b>."));
  EXPECT_EQ(count(page.substr(0, page.find("<section id=\"charts\"")), ">adam<"),
            0u);  // no column of the table
}

TEST(ReportPage, FailuresOfManyCellsAreToldByTheirKind) {
  std::vector<Value> batches;
  for (std::int64_t batch = 1; batch <= 20; ++batch) batches.push_back(batch);
  TestStudy study = make_test_study("s", {{"batch", batches}}, 1);
  for (std::size_t cell = 0; cell < 14; ++cell)
    fail_run(study.run(cell, 1), record::Status::timeout,
             fmt::format("job {} ended at 0{}:00", 100 + cell, cell % 9));
  fail_run(study.run(19, 1), record::Status::crash, "signal 11");
  const std::string page = page_of(study);
  EXPECT_TRUE(
      has(page, "<td class=\"num\" data-value=\"14\">14</td><td class=\"reason\">job 100 ended at 00:00"));
  EXPECT_TRUE(has(page, "<summary>14 cells</summary>"));
  EXPECT_TRUE(has(page, "<details><summary>Runs of every cell</summary>"));  // folded
}

TEST(ReportPage, LinksToTheFilesOfItsRuns) {
  const TestStudy study = small_study("s");
  StudyView view = view_of(study);
  view.links.spec = "./study.yaml";
  view.links.logs["c000-r1-a1"] = "./logs/c000-r1-a1.log";
  view.links.record_files["c000-r1-a1"] = "./records/c000-r1-a1.json";
  const std::string page = make_page(view, {}, {}, 1'780'000'000);
  EXPECT_TRUE(has(page, "<a href=\"./study.yaml\">study.yaml</a>"));
  EXPECT_TRUE(has(page, "<a href=\"./logs/c000-r1-a1.log\" title=\"c000-r1-a1\">log 1</a>"));
  EXPECT_TRUE(has(page, "<a href=\"./records/c000-r1-a1.json\" title=\"c000-r1-a1\">record</a>"));
  EXPECT_FALSE(has(page, "store.sqlite"));  // there is none
  EXPECT_FALSE(has(page_of(study), "<th>files</th>"));
}

TEST(ReportPage, ManyNodesAndValuesAreFolded) {
  std::vector<Value> batches;
  for (std::int64_t batch = 1; batch <= 30; ++batch) batches.push_back(batch);
  TestStudy study = make_test_study("s", {{"batch", batches}}, 1);
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    study.runs[i].node = fmt::format("node-{}", i);
    study.runs[i].provenance.push_back({"slurm", "job_id", fmt::format("job {}", i)});
    study.runs[i].provenance.push_back({"slurm", "qos", std::string(i % 2 == 0 ? "normal" : "high")});
  }
  const std::string page = page_of(study);
  EXPECT_TRUE(has(page, "<details><summary>Ran on 30 nodes</summary>"));
  EXPECT_TRUE(has(page, "job id <small>varies</small></th><td>30 different values</td>"));
  EXPECT_TRUE(has(page, "<div>normal <small>node-0, node-10, node-12, node-14 and 11 more</small></div>"));
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
