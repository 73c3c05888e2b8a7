// Pages of large studies, as a person reads them: how long they are, on a narrow screen, in the dark, by
// clicks.

#include <set>

#include <fmt/core.h>

#include "base/json.h"
#include "browser/published_outputs.h"
#include "browser/report_fixture.h"

namespace trainyard::browser_test {
namespace {

// The script returns the elements that are wider than the page (except tables in a box that scrolls), the
// number of panels, and the texts that were cut.
constexpr const char* kMeasure = R"js(
  const room = document.documentElement.clientWidth, outside = [];
  for (const element of document.querySelectorAll('body *')) {
    const box = element.getBoundingClientRect();
    if (box.width > 0 && box.right > room + 1 && !element.closest('.scroll') && !element.closest('svg'))
      outside.push(element.tagName + ' ' + element.className);
  }
  for (const svg of document.querySelectorAll('.plot svg'))
    if (svg.getBoundingClientRect().width > svg.parentElement.clientWidth + 1) outside.push('chart ' + svg.closest('figure').id);
  return {
    width: room, outside,
    height: document.documentElement.scrollHeight,
    scroll_width: document.documentElement.scrollWidth,
    problem: document.documentElement.dataset.problem ?? '',
    charts: document.querySelectorAll('.plot svg').length,
    panels: [...document.querySelectorAll('.plot svg')].reduce((sum, svg) =>
      sum + Math.max(1, svg.querySelectorAll('[class*="concat_"][class*="_group"]').length), 0),
    cut: [...document.querySelectorAll('svg text')].filter(text => text.textContent.endsWith('\u2026')).map(text => text.textContent),
  };
)js";

class ReadingTest : public ReportTest {
 protected:
  Json ask(const Reader& reader, const std::string& function) const {
    const std::string answer =
        ask_page(path() / "study" / "report.html", path() / "chromium", reader, function);
    return answer.empty() ? Json() : parse_json(answer);
  }

  void import_published() const {
    ASSERT_EQ(write_published_outputs(path() / "psc"), 231);
    const cli_test::CommandResult imported = trainyard("study import study --from psc");
    ASSERT_EQ(imported.exit_code, 0) << imported.err;
    const cli_test::CommandResult made = trainyard("report study --json");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(parse_json(made.out)["runs_done"], 170);
  }

  // 240 cells of four networks, of which two are ten times as fast as the others.
  void write_matrix() const {
    std::vector<record::Value> batches, threads;
    for (const std::int64_t batch : {8, 16, 32, 64, 128}) batches.emplace_back(batch);
    for (const std::int64_t count : {1, 2, 4, 8}) threads.emplace_back(count);
    report::TestStudy study = report::make_test_study(
        "matrix",
        {{"network",
          {report::word("lenet"), report::word("deepmnist"), report::word("alexnet"),
           report::word("resnet_cifar")}},
         {"optimizer", {report::word("adam"), report::word("sgd"), report::word("momentum")}},
         {"batch", batches},
         {"threads", threads},
         {"staging", {report::word("local")}}},
        1);
    for (record::RunRecord& run : study.runs)
      if (const std::string network = record::to_text(run.asked["network"]);
          network == "lenet" || network == "deepmnist")
        *run.images_per_second *= 10;
    write(study);
    ASSERT_EQ(trainyard("report study").exit_code, 0);
  }

  void expect_readable(int most_height, int most_panels) const {
    const Json wide = ask({1400}, kMeasure);
    ASSERT_TRUE(wide.is_object()) << wide;
    EXPECT_LT(wide["height"], most_height);
    EXPECT_GT(wide["charts"], 2);
    EXPECT_LE(wide["panels"], most_panels);
    const Json narrow = ask({400}, kMeasure);
    ASSERT_TRUE(narrow.is_object()) << narrow;
    EXPECT_EQ(narrow["width"], 400);
    EXPECT_LE(narrow["scroll_width"], 400);
    for (const Json& view : {wide, narrow}) {
      EXPECT_EQ(view["cut"], Json::array()) << view["width"];
      EXPECT_EQ(view["outside"], Json::array()) << view["width"];
      EXPECT_EQ(view["problem"], "");
    }
  }
};

TEST_F(ReadingTest, PublishedRunsMakeAPageThatFits) {
  import_published();
  expect_readable(7500, 25);
}

TEST_F(ReadingTest, AMatrixOf240CellsMakesAPageThatFits) {
  write_matrix();
  expect_readable(7500, 25);
}

// The copies with a text that is cut and with a part that is too wide: the measure above would see them.
TEST_F(ReadingTest, TheMeasureTellsWhatIsWideOrCut) {
  write_matrix();
  const Json seen = ask({400}, std::string(R"js(
    const wide = document.createElement('p');
    wide.style.width = '700px';
    wide.textContent = 'wide';
    document.querySelector('main').append(wide);
    document.querySelector('svg text').textContent = 'cut\u2026';
  )js") + kMeasure);
  ASSERT_TRUE(seen.is_object()) << seen;
  EXPECT_EQ(seen["cut"], Json::array({"cut\u2026"}));
  EXPECT_NE(json_text(seen["outside"]).find("P "), std::string::npos) << seen;
  EXPECT_GT(seen["scroll_width"], 400);
}

// Reads the ground of the page and the ink of a chart's title.
constexpr const char* kColours = R"js(
  const colours = () => ({
    ground: getComputedStyle(document.body).backgroundColor,
    ink: document.querySelector('.plot svg .role-title-text text').getAttribute('fill')
  });
  const drawn = async () => new Promise(done => setTimeout(done, 1500));
)js";

TEST_F(ReadingTest, IsDarkWhereTheReaderWantsIt) {
  write_matrix();
  const Json light = ask({1280}, std::string(kColours) + "return colours();");
  EXPECT_EQ(light["ground"], "rgb(245, 247, 249)");
  EXPECT_EQ(light["ink"], "#1c2430");
  const Json dark = ask({1280, true}, std::string(kColours) + "return colours();");
  EXPECT_EQ(dark["ground"], "rgb(15, 20, 26)");
  EXPECT_EQ(dark["ink"], "#e8edf2");
  // The switch goes the other way, and its choice holds.
  const Json switched = ask({1280, true}, std::string(kColours) + R"js(
    const button = document.getElementById('mode'), before = button.textContent;
    button.click();
    await drawn();
    return {...colours(), before, after: button.textContent, theme: document.documentElement.dataset.theme};
  )js");
  EXPECT_EQ(switched["ground"], "rgb(245, 247, 249)");
  EXPECT_EQ(switched["ink"], "#1c2430");
  EXPECT_EQ(switched["before"], "Light");
  EXPECT_EQ(switched["after"], "Dark");
  EXPECT_EQ(switched["theme"], "light");
}

TEST_F(ReadingTest, AClickSortsByNumberAndBack) {
  report::TestStudy study = report::make_test_study(
      "s", {{"batch", {std::int64_t{8}, std::int64_t{64}, std::int64_t{512}, std::int64_t{4}}}}, 2);
  for (int replicate = 1; replicate <= 2; ++replicate)
    report::fail_run(study.run(1, replicate), record::Status::oom, "killed");
  write(study);
  ASSERT_EQ(trainyard("report study").exit_code, 0);
  const Json order = ask({1280}, R"js(
    const table = document.getElementById('cells'), column = name => [...table.tHead.rows[0].cells].findIndex(head => head.textContent.startsWith(name));
    const batches = () => [...table.tBodies[0].rows].map(row => row.cells[0].textContent);
    const click = name => { table.tHead.rows[0].cells[column(name)].querySelector('button').click(); return batches(); };
    return {first: batches(), up: click('images/s'), down: click('images/s'),
            sorted: table.tHead.rows[0].cells[column('images/s')].getAttribute('aria-sort'), batch: click('batch')};
  )js");
  ASSERT_TRUE(order.is_object()) << order;
  EXPECT_EQ(order["first"], Json({"4", "8", "64", "512"}));
  EXPECT_EQ(order["up"], Json({"4", "8", "512", "64"}));  // without a result: last
  EXPECT_EQ(order["down"], Json({"512", "8", "4", "64"}));
  EXPECT_EQ(order["sorted"], "descending");
  EXPECT_EQ(order["batch"], Json({"4", "8", "64", "512"}));
}

TEST_F(ReadingTest, WordsFilterTheRows) {
  write_matrix();
  const Json shown = ask({1280}, R"js(
    const input = document.querySelector('[data-filter]');
    input.value = 'lenet adam';
    input.dispatchEvent(new Event('input'));
    const rows = [...document.getElementById('cells').tBodies[0].rows].filter(row => !row.hidden);
    return {rows: rows.length, told: input.parentElement.querySelector('output').textContent};
  )js");
  EXPECT_EQ(shown["rows"], 20);
  EXPECT_EQ(shown["told"], "20 of 240");
}

TEST_F(ReadingTest, AFoldedChartIsDrawnWhenItIsOpened) {
  std::vector<record::Value> networks, batches;
  for (int i = 0; i < 12; ++i) networks.emplace_back(fmt::format("network{}", i));
  for (const std::int64_t batch : {8, 16, 32, 64, 128}) batches.emplace_back(batch);
  report::TestStudy study = report::make_test_study("s",
                                                    {{"network", networks},
                                                     {"optimizer", {report::word("a"), report::word("b")}},
                                                     {"batch", batches},
                                                     {"threads", {std::int64_t{1}, std::int64_t{2}}}},
                                                    1);
  for (std::size_t i = 0; i < study.runs.size(); ++i)
    *study.runs[i].images_per_second *= 1 + static_cast<double>(i);
  write(study);
  ASSERT_EQ(trainyard("report study").exit_code, 0);
  const Json drawn = ask({1280}, R"js(
    const fold = document.querySelector('details.chart'), before = fold.querySelectorAll('svg').length;
    fold.open = true;
    await new Promise(done => setTimeout(done, 2000));
    return {before, after: fold.querySelectorAll('svg').length, problem: document.documentElement.dataset.problem ?? ''};
  )js");
  ASSERT_TRUE(drawn.is_object()) << drawn;
  EXPECT_EQ(drawn["before"], 0);
  EXPECT_EQ(drawn["after"], 1);
  EXPECT_EQ(drawn["problem"], "");
}

// A study that really ran: its logs, records and YAML lie where the page says, whatever its folder is called
// and wherever the page is.
TEST_F(ReadingTest, LinksLeadToTheFilesOfTheStudy) {
  std::ofstream(path() / "tiny.yaml") << "study: tiny\nrun: bench\n"
                                         "settings: {network: lenet, steps: 3, warmup: 1, no_peak: true}\n"
                                         "axes: {batch: [2, 4]}\n";
  const cli_test::CommandResult ran = trainyard("study run tiny.yaml --out a#study%1 --quiet");
  ASSERT_EQ(ran.exit_code, 0) << ran.err << ran.out;
  for (const std::string page : {"a#study%1/report.html", "elsewhere.html"}) {
    const cli_test::CommandResult made = trainyard("report a#study%1 --out " + page);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const std::string answer = ask_page(path() / page, path() / "chromium", {}, R"js(
      return [...document.querySelectorAll('a[href]')].filter(link => !link.hash).map(link => decodeURIComponent(new URL(link.href).pathname));
    )js");
    ASSERT_NE(answer, "");
    std::set<std::string> files;  // warnings link to logs once more
    for (const auto& file : parse_json(answer).get<std::vector<std::string>>()) files.insert(file);
    EXPECT_EQ(files.size(), 3u + 2 * 2) << answer;  // study.yaml, store, records; a log and a record a run
    for (const std::string& file : files) EXPECT_TRUE(std::filesystem::exists(file)) << page << " " << file;
  }
}

}  // namespace
}  // namespace trainyard::browser_test
