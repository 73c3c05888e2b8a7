// Reports as a person gets them: made by the program from a store, opened by a browser.

#include <cmath>
#include <numeric>
#include <regex>

#include "base/json.h"
#include "browser/report_fixture.h"
#include "record/cell_summary.h"

namespace trainyard::browser_test {
namespace {

using record::Value;
using report::TestStudy;

std::vector<Value> numbers(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.end()};
}

TestStudy gappy_study(std::initializer_list<std::int64_t> threads = {1, 2, 4}) {
  TestStudy study = report::make_test_study("night run",
                                            {{"network", {std::string("lenet"), std::string("deepmnist")}},
                                             {"batch", numbers({16, 64, 256})},
                                             {"threads", numbers(threads)},
                                             {"staging", {std::string("in-place")}}},
                                            3);
  report::fail_run(study.run(4, 2), record::Status::crash, "signal 11");
  for (int replicate = 1; replicate <= 3; ++replicate)
    report::fail_run(study.run(7, replicate), record::Status::oom, "killed at 31 GiB");
  report::lose_run(study, 9, 3);
  study.run(0, 1).warnings = {{"load", "load average 3 on 2 cores"}};
  return study;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

// The figure element of a chart, with the SVG that was drawn in it.
std::string figure(const std::string& dom, const std::string& chart) {
  const std::size_t begin = dom.find("<figure id=\"chart-" + chart + "\"");
  return begin == std::string::npos ? "" : dom.substr(begin, dom.find("</figure>", begin) - begin);
}

// Images per second by cell and by run, from the store.
struct Stored {
  std::map<std::string, std::vector<record::MeasuredRun>> cells;
  std::map<std::string, double> runs;
};

Stored read_store(const std::filesystem::path& folder) {
  const store::Store store(folder / store::Store::file_name(), store::Store::Access::read);
  Stored stored;
  for (const record::RunRecord& run : store.runs()) {
    if (!run.images_per_second) continue;
    stored.cells[run.cell].push_back({run.node, *run.images_per_second});
    stored.runs[run.id] = *run.images_per_second;
  }
  return stored;
}

TEST_F(ReportTest, DrawsEveryChartWithoutComplaintOrNetwork) {
  write(gappy_study());
  const cli_test::CommandResult made = trainyard("report study --json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Json summary = parse_json(made.out);
  EXPECT_EQ(summary["runs_expected"], 54);
  EXPECT_EQ(summary["runs_done"], 49);
  EXPECT_EQ(summary["charts"].size(), 6u) << made.out;
  const OpenedPage page = open();
  EXPECT_EQ(page.exit_code, 0);
  EXPECT_EQ(page.console, std::vector<std::string>{});
  EXPECT_EQ(page.addresses, std::vector<std::string>{});
  EXPECT_EQ(count(page.dom, "data-problem="), 0u);
  EXPECT_EQ(count(page.dom, "<html lang=\"en\" data-charts=\"6\""), 1u) << page.dom.substr(0, 300);
  const std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> marks{
      {"throughput-batch", {{"rect mark", 18}, {"text mark", 18}}},
      {"scaling-threads", {{"line mark", 2 * 2 * 6}, {"rule mark", 2 * 17}}},
      {"batch", {{"line mark", 6}, {"area mark", 6}}},
      {"steps", {{"rect mark", 2 * 6}}},
      {"cores", {{"point", 49}}},
      {"staging", {{"bar", 17}, {"point", 49}}}};
  for (const auto& [chart, kinds] : marks) {
    const std::string drawn = figure(page.dom, chart);
    EXPECT_EQ(count(drawn, "<svg "), 1u) << chart;
    for (const auto& [kind, expected] : kinds)
      EXPECT_EQ(count(drawn, "aria-roledescription=\"" + kind + "\""), expected) << chart << " " << kind;
  }
}

TEST_F(ReportTest, DrawsTheChartsOfASweep) {
  TestStudy study = report::make_test_study("sweep",
                                            {{"device", {std::string("old"), std::string("new")}},
                                             {"layers", numbers({2, 8})},
                                             {"width", numbers({32, 128, 512})},
                                             {"batch", numbers({16, 64, 256})}},
                                            1);
  for (record::RunRecord& run : study.runs) report::describe_network(run);
  for (const std::size_t cell : {17u, 35u})
    report::fail_run(study.run(cell, 1), record::Status::oom, "killed");
  write(study);
  const cli_test::CommandResult made = trainyard("report study --json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const OpenedPage page = open();
  EXPECT_EQ(page.console, std::vector<std::string>{});
  EXPECT_EQ(count(page.dom, "data-problem="), 0u);
  const std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> marks{
      {"heat-map", {{"rect mark", 18}, {"text mark", 1}}},
      {"heat-map-2", {{"rect mark", 18}, {"text mark", 1}}},
      {"weights", {}},
      {"roofline", {{"point", 34}, {"line mark", 1}}},
      {"op-roofline", {{"point", 68}}},
      {"ops", {{"bar", 68}}},
      {"limits", {{"point", 34}}},
      {"speedup", {{"point", 8}}},
      {"speedup-parameters", {{"point", 17}}}};
  for (const auto& [chart, kinds] : marks) {
    const std::string drawn = figure(page.dom, chart);
    EXPECT_EQ(count(drawn, "<svg "), 1u) << chart;
    for (const auto& [kind, expected] : kinds)
      EXPECT_EQ(count(drawn, "aria-roledescription=\"" + kind + "\""), expected) << chart << " " << kind;
  }
  EXPECT_NE(figure(page.dom, "heat-map").find(">oom<"), std::string::npos);
}

TEST_F(ReportTest, DrawsLatencyAgainstThroughput) {
  TestStudy study = report::make_test_study(
      "served", {{"network", {std::string("lenet"), std::string("vgg")}}, {"batch", numbers({1, 4, 16})}}, 2);
  for (record::RunRecord& run : study.runs) {
    run.words["mode"] = "infer";
    run.statistics.p99 = 1.5 * run.statistics.median;
  }
  write(study);
  ASSERT_EQ(trainyard("report study").exit_code, 0);
  const OpenedPage page = open();
  EXPECT_EQ(page.console, std::vector<std::string>{});
  EXPECT_EQ(count(page.dom, "data-problem="), 0u);
  const std::string drawn = figure(page.dom, "latency");
  EXPECT_EQ(count(drawn, "<svg "), 1u);
  EXPECT_EQ(count(drawn, "aria-roledescription=\"point\""), 6u);
}

TEST_F(ReportTest, ShadesTheBurstsOfProfiles) {
  TestStudy study = report::make_test_study("profiles", {{"batch", numbers({16, 64})}}, 1);
  for (record::RunRecord& run : study.runs) report::add_profile(run);
  write(study);
  const cli_test::CommandResult made = trainyard("report study --json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const OpenedPage page = open();
  EXPECT_EQ(page.console, std::vector<std::string>{});
  EXPECT_EQ(count(page.dom, "data-problem="), 0u);
  const std::string drawn = figure(page.dom, "profile");
  EXPECT_EQ(count(drawn, "<svg "), 1u);
  EXPECT_EQ(count(drawn, "aria-roledescription=\"rect mark\""), 2u * 3);
  EXPECT_EQ(count(drawn, "aria-roledescription=\"line mark\""), 2u * 2);
  EXPECT_NE(drawn.find(">batch 16: gpu0 busy, %<"), std::string::npos);
}

TEST_F(ReportTest, ShowsTheNumbersOfTheStore) {
  write(gappy_study({1, 2}));
  ASSERT_EQ(trainyard("report study").exit_code, 0);
  const Stored stored = read_store(path() / "study");
  const std::string dom = open().dom;

  std::map<std::string, double> in_table;
  const std::string table =
      dom.substr(dom.find("<section id=\"results\""), dom.find("<section id=\"charts\""));
  const std::regex row(
      "<tr data-cell=\"([^\"]+)\"[^>]*>.*?data-figure=\"median\" data-value=\"([^\"]+)\"[^>]*>([^<]*)<");
  for (std::sregex_iterator at(table.begin(), table.end(), row), end; at != end; ++at) {
    in_table[(*at)[1]] = std::stod((*at)[2]);
    std::string shown = (*at)[3];
    std::erase(shown, ',');
    EXPECT_NEAR(std::stod(shown) / std::stod((*at)[2]), 1, 5e-3);
  }
  ASSERT_EQ(in_table.size(), stored.cells.size());
  for (const auto& [cell, speeds] : stored.cells)
    EXPECT_DOUBLE_EQ(in_table[cell], record::describe_cell(speeds).median) << cell;

  // The bars say their median, and the dots their run and value; a dot's place is in proportion to its value.
  const std::string drawn = figure(dom, "throughput");
  std::multiset<long> bars, medians;
  const std::regex bar("aria-label=\"median: ([0-9.e+]+);"),
      dot("aria-label=\"value: ([0-9.e+]+);[^\"]*run: ([^;]+);[^>]*translate\\(([0-9.]+),");
  for (std::sregex_iterator at(drawn.begin(), drawn.end(), bar), end; at != end; ++at)
    bars.insert(std::lround(std::stod((*at)[1]) * 1000));
  for (const auto& [cell, speeds] : stored.cells)
    medians.insert(std::lround(record::describe_cell(speeds).median * 1000));
  EXPECT_EQ(bars, medians);
  std::size_t dots = 0;
  double pixels_per_image = 0;
  for (std::sregex_iterator at(drawn.begin(), drawn.end(), dot), end; at != end; ++at, ++dots) {
    const double value = std::stod((*at)[1]), pixels = std::stod((*at)[3]);
    EXPECT_NEAR(value / stored.runs.at((*at)[2]), 1, 1e-9);
    if (dots == 0) pixels_per_image = pixels / value;
    EXPECT_NEAR(pixels / value / pixels_per_image, 1, 1e-3);
  }
  EXPECT_EQ(dots, stored.runs.size());
}

TEST_F(ReportTest, NamesOfAnyKindStayText) {
  const std::string hostile = "</script><b>&\"'";
  TestStudy study = report::make_test_study(
      hostile,
      {{"a" + hostile, {hostile, std::string("<img src=x onerror=alert(1)>")}}, {"devices", numbers({1, 2})}},
      2);
  report::fail_run(study.run(0, 1), record::Status::failed,
                   hostile + "<script>document.title='taken'</script>");
  study.run(1, 1).warnings = {{hostile, hostile}};
  write(study);
  ASSERT_EQ(trainyard("report study").exit_code, 0);
  const OpenedPage page = open();
  EXPECT_EQ(page.console, std::vector<std::string>{});
  EXPECT_EQ(count(page.dom, "data-problem="), 0u);
  EXPECT_EQ(count(page.dom, "<html lang=\"en\" data-charts=\"3\""), 1u) << page.dom.substr(0, 300);
  EXPECT_EQ(count(page.dom, "<h1>&lt;/script&gt;&lt;b&gt;&amp;\"'</h1>"), 1u);
  EXPECT_EQ(count(page.dom, "<title>&lt;/script&gt;&lt;b&gt;&amp;\"' - Trainyard</title>"), 1u);
  const std::string body = page.dom.substr(0, page.dom.find("</main>"));  // the libraries come after it
  EXPECT_EQ(count(std::regex_replace(body, std::regex("=\"[^\"]*\""), ""), "<img"), 0u);
  EXPECT_NE(figure(page.dom, "throughput").find(">&lt;/script&gt;&lt;b&gt;&amp;\"', devices 1</text>"),
            std::string::npos);
}

// The two checks above would see it if a page did complain or ask for something.
TEST_F(ReportTest, TheBrowserTellsOfErrorsAndAddresses) {
  std::ofstream(path() / "bad.html")
      << "<html><body><img src='http://127.0.0.1:9/x.png'><script>absent()</script>";
  const OpenedPage page = open_page(path() / "bad.html", path() / "chromium");
  EXPECT_NE(page.addresses, std::vector<std::string>{});
  ASSERT_FALSE(page.console.empty());
}

TEST_F(ReportTest, ChartsAsSvgAreWellFormedAndComplete) {
  write(gappy_study({1, 2}));
  const cli_test::CommandResult made = trainyard("report study --out page.html --charts figures --json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_FALSE(std::filesystem::exists(path() / "study" / "report.html"));
  const Json files = parse_json(made.out)["files"];
  EXPECT_EQ(files.size(), 6u);
  for (const auto& file : files.get<std::vector<std::string>>()) {
    EXPECT_EQ(count(content(file), "<svg "), 1u) << file;
    if (find_program("python3").empty()) continue;
    const cli_test::CommandResult parsed = cli_test::run(
        {find_program("python3"), "-c",
         "import sys, xml.etree.ElementTree as e; print(e.parse(sys.argv[1]).getroot().tag)", path() / file},
        {path(), {}});
    EXPECT_EQ(parsed.out, "{http://www.w3.org/2000/svg}svg\n") << file << parsed.err;
  }
  EXPECT_EQ(count(content("figures/throughput.svg"), "aria-roledescription=\"bar\""), 11u);
  // The figure uses the light palette, regardless of the palette that the reader of the page prefers.
  EXPECT_NE(content("figures/throughput.svg").find("fill=\"#1c2430\""), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path() / "figures"), {}), 6);
}

TEST_F(ReportTest, ChartsAsPngHaveTwiceTheSizeOfTheirSvg) {
  write(report::make_test_study("s", {{"batch", numbers({16, 64})}}, 2));
  ASSERT_EQ(trainyard("report study --charts f%20#gures --format svg").exit_code, 0);
  const cli_test::CommandResult made = trainyard("report study --charts f%20#gures --format png");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  for (const std::string chart : {"throughput", "batch", "steps"}) {
    const std::string png = content("f%20#gures/" + chart + ".png"),
                      svg = content("f%20#gures/" + chart + ".svg");
    ASSERT_GT(png.size(), 2000u) << chart;
    EXPECT_EQ(png.substr(1, 3), "PNG");
    const auto size = [&](std::size_t at) {
      const auto byte = [&](std::size_t i) {
        return static_cast<int>(static_cast<unsigned char>(png[at + i]));
      };
      return byte(2) * 256 + byte(3);
    };
    std::smatch match;
    ASSERT_TRUE(std::regex_search(svg, match, std::regex("width=\"([0-9.]+)\" height=\"([0-9.]+)\"")));
    EXPECT_EQ(size(16), 2 * std::ceil(std::stod(match[1]))) << chart;
    EXPECT_EQ(size(20), 2 * std::ceil(std::stod(match[2]))) << chart;
  }
}

TEST_F(ReportTest, SaysWhereItCannotWrite) {
  write(report::make_test_study("s", {{"batch", numbers({16, 64})}}, 1));
  const cli_test::CommandResult result = trainyard("report study --out absent/page.html");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("absent/page.html"), std::string::npos) << result.err;
}

TEST_F(ReportTest, SaysWhichProgramIsMissing) {
  write(report::make_test_study("s", {{"batch", numbers({16, 64})}}, 1));
  const cli_test::CommandResult without_node =
      trainyard("report study --charts figures", {{"PATH", "/nowhere"}});
  EXPECT_EQ(without_node.exit_code, 2);
  EXPECT_NE(without_node.err.find("no program 'node' in PATH"), std::string::npos) << without_node.err;
  std::filesystem::create_directory(path() / "bin");
  std::filesystem::create_symlink(find_program("node"), path() / "bin" / "node");
  const cli_test::CommandResult without_chromium =
      trainyard("report study --charts figures --format png", {{"PATH", path() / "bin"}});
  EXPECT_EQ(without_chromium.exit_code, 2);
  EXPECT_NE(without_chromium.err.find("no program 'chromium' in PATH"), std::string::npos)
      << without_chromium.err;
  EXPECT_TRUE(std::filesystem::is_empty(path() / "figures"));
}

}  // namespace
}  // namespace trainyard::browser_test
