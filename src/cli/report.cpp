#include "cli/report.h"

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "report/charts.h"
#include "report/export_charts.h"
#include "report/libraries.h"
#include "report/page.h"
#include "report/study_view.h"
#include "store/store.h"
#include "study/folder.h"
#include "study/progress.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ReportOptions {
  std::filesystem::path study, out, charts;
  std::string format = "svg";
  report::LibraryOptions libraries;
  bool get_libraries = false, json = false;
};

void print_json(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

int get_libraries(const ReportOptions& options) {
  Json list = Json::array();
  for (const report::Library& library : report::get_libraries(options.libraries)) {
    list.push_back({{"name", library.name}, {"version", library.version}, {"file", library.file.string()}});
    if (!options.json) fmt::print("{} {}  {}\n", library.name, library.version, library.file.string());
  }
  if (options.json) print_json({{"libraries", list}});
  return 0;
}

report::StudyView open_study(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    fail(ErrorKind::config, "report: '{}' is not a study's folder", folder.string());
  const study::Folder study{folder};
  const store::Store store(study.store(), store::Store::Access::read);
  report::StudyView view = report::make_study_view(store.study(), store.planned(), study::runs_of(study));
  if (view.cells.empty())
    fail(ErrorKind::config, "report: the study in '{}' has neither a plan nor a run", folder.string());
  return view;
}

// Of a page that has been written.
Json describe(const report::StudyView& view, const std::vector<report::Chart>& charts) {
  std::int64_t expected = 0, done = 0, warnings = 0;
  for (const report::Cell& cell : view.cells) {
    expected += cell.expected();
    done += std::ssize(cell.done);
  }
  for (const record::RunRecord& run : view.runs) warnings += std::ssize(run.warnings);
  Json drawn = Json::array(), left_out = Json::array();
  for (const report::Chart& chart : charts) {
    if (chart.spec.empty())
      left_out.push_back({{"id", chart.id}, {"reason", chart.left_out}});
    else
      drawn.push_back({{"id", chart.id}, {"title", chart.title}});
  }
  return {{"study", view.name},  {"cells", view.cells.size()}, {"runs_expected", expected},
          {"runs_done", done},   {"warnings", warnings},       {"charts", drawn},
          {"left_out", left_out}};
}

int write_report(const ReportOptions& options) {
  if (options.study.empty()) fail(ErrorKind::usage, "report: a study's folder is required");
  const report::StudyView view = open_study(options.study);
  const std::vector<report::Chart> charts = report::make_charts(view);
  const std::vector<report::Library> libraries = report::get_libraries(options.libraries);
  const std::filesystem::path out = options.out.empty() ? options.study / "report.html" : options.out;
  const std::string page =
      report::make_page(view, charts, libraries, static_cast<double>(std::time(nullptr)));
  AtomicFile file(out);
  file.write(page);
  file.commit();
  std::vector<std::filesystem::path> images;
  if (!options.charts.empty())
    images =
        report::export_charts(charts, libraries, options.charts,
                              options.format == "png" ? report::ImageFormat::png : report::ImageFormat::svg);
  Json result = describe(view, charts);
  result["report"] = out.string();
  result["bytes"] = page.size();
  result["files"] = Json::array();
  for (const std::filesystem::path& image : images) result["files"].push_back(image.string());
  if (options.json) {
    print_json(result);
    return 0;
  }
  fmt::print("{}: {} of {} runs done, {} charts, {}\n", out.string(), result["runs_done"].get<std::int64_t>(),
             result["runs_expected"].get<std::int64_t>(), result["charts"].size(),
             format_bytes(static_cast<std::int64_t>(page.size())));
  for (const std::filesystem::path& image : images) fmt::print("{}\n", image.string());
  return 0;
}

}  // namespace

std::function<int()> declare_report(CLI::App& command) {
  const auto options = std::make_shared<ReportOptions>();
  command.description(
      "Write a study's results as one HTML file that needs no network, and its charts as files");
  command.add_option("study", options->study, "Folder of the study")->type_name("DIR");
  command
      .add_option("--out", options->out,
                  "Where to write the page (default: report.html in the study's folder)")
      ->type_name("FILE");
  command.add_option("--charts", options->charts, "Also draw every chart into a file of this folder")
      ->type_name("DIR");
  command.add_option("--format", options->format, "Of these files: svg or png")
      ->check(CLI::IsMember({"svg", "png"}))
      ->capture_default_str();
  command.add_flag("--get-libraries", options->get_libraries,
                   "Only fetch the script libraries of the page, for a later use without network");
  command.add_option("--cache", options->libraries.cache, "Cache folder (default: ~/.cache/trainyard)")
      ->type_name("DIR");
  command.add_flag("--quiet", options->libraries.quiet, "No progress");
  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "Examples:\n"
      "  trainyard report results/smoke\n"
      "  trainyard report results/smoke --out smoke.html --charts figures --format svg");
  return [options] { return options->get_libraries ? get_libraries(*options) : write_report(*options); };
}

}  // namespace trainyard::cli
