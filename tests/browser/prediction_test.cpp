// Pages of predictions and placements, as a person gets them.

#include <fstream>

#include "base/json.h"
#include "browser/report_fixture.h"
#include "cli/made_up_runs.h"

namespace trainyard::browser_test {
namespace {

class PredictionPageTest : public ReportTest {
 protected:
  Json made(const std::string& arguments) const {
    const cli_test::CommandResult result = trainyard(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? parse_json(result.out) : Json();
  }

  // The drawn page, after what every page must keep to.
  std::string drawn(const std::string& page, std::size_t charts) const {
    const OpenedPage opened = open_page(path() / page, path() / "chromium");
    EXPECT_EQ(opened.console, std::vector<std::string>{}) << page;
    EXPECT_EQ(opened.addresses, std::vector<std::string>{}) << page;
    EXPECT_EQ(opened.dom.find("data-problem="), std::string::npos) << page;
    EXPECT_NE(opened.dom.find(fmt::format("<html lang=\"en\" data-charts=\"{}\"", charts)), std::string::npos)
        << page << opened.dom.substr(0, 200);
    return opened.dom;
  }

  // Nothing is wider than a narrow screen, and nothing is cut.
  void expect_narrow(const std::string& page) const {
    const std::string answer = ask_page(path() / page, path() / "chromium", {400, true}, R"js(
      const outside = [...document.querySelectorAll('main *')].filter(element => element.getBoundingClientRect().right > 401 &&
        !element.closest('.scroll') && !element.closest('svg')).map(element => element.tagName + element.id);
      return {outside, cut: [...document.querySelectorAll('svg text')].filter(text => text.textContent.endsWith('\u2026')).length,
              ground: getComputedStyle(document.body).backgroundColor};
    )js");
    ASSERT_NE(answer, "") << page;
    const Json seen = parse_json(answer);
    EXPECT_EQ(seen["outside"], Json::array()) << page;
    EXPECT_EQ(seen["cut"], 0) << page;
    EXPECT_EQ(seen["ground"], "rgb(15, 20, 26)") << page;
  }

  static std::size_t marks(const std::string& dom, const std::string& chart, const std::string& kind) {
    const std::size_t begin = dom.find("<figure id=\"chart-" + chart + "\""),
                      end = dom.find("</figure>", begin);
    std::size_t found = 0;
    for (std::size_t at = begin; (at = dom.find("aria-roledescription=\"" + kind + "\"", at)) < end; ++at)
      ++found;
    return found;
  }
};

TEST_F(PredictionPageTest, DrawsPredictionsAndPlacements) {
  std::ofstream(path() / "runs.csv") << cli_test::made_up_runs();
  std::ofstream(path() / "jobs.yaml") << "table: runs.csv\n";
  std::ofstream(path() / "cluster.yaml") << "slots:\n  - {device: GTX1080}\n  - {device: RTX2070}\n";
  made("predict fit runs.csv -o model.json --json");

  EXPECT_EQ(made("predict eval --runs runs.csv --model model.json --report eval.html --json")["report"],
            "eval.html");
  const std::string eval = drawn("eval.html", 6);
  EXPECT_EQ(marks(eval, "predicted", "point"), 24u);
  EXPECT_EQ(marks(eval, "predicted", "rule mark"), 24u);
  EXPECT_EQ(marks(eval, "predicted", "line mark"), 2u * 3);
  // The legend can be clicked.
  EXPECT_NE(eval.find("series_legend_symbols"), std::string::npos);
  EXPECT_EQ(marks(eval, "off", "point"), 24u);
  EXPECT_EQ(marks(eval, "off", "rule mark"), 24u + 3);
  EXPECT_EQ(marks(eval, "errors-family", "bar"), 3u);
  EXPECT_EQ(marks(eval, "coverage", "bar"), 3u);
  expect_narrow("eval.html");

  const auto placed =
      made("place jobs.yaml --cluster cluster.yaml --policy all --report plan.html --charts figures --json");
  const std::string plan = drawn("plan.html", 4);
  EXPECT_EQ(marks(plan, "gantt", "bar"), 12u);
  EXPECT_EQ(marks(plan, "jobs", "bar"), 2u * 12);
  expect_narrow("plan.html");
  ASSERT_EQ(placed["files"].size(), 4u);
  EXPECT_NE(content(placed["files"][1].get<std::string>()).find("aria-roledescription=\"bar\""),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::browser_test
