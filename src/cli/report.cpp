#include "base/json.h"
#include "cli/commands.h"

#include <ctime>

#include "base/error.h"
#include "base/file.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/page_files.h"
#include "cli/progress_bar.h"
#include "cli/study.h"
#include "report/chart.h"
#include "report/libraries.h"
#include "report/page.h"
#include "report/study_view.h"
#include "report/text.h"
#include "store/store.h"

namespace trainyard::cli {
namespace {

struct ReportOptions {
  std::filesystem::path study;
  std::string build;
  PageFiles files;
  std::filesystem::path cache;
  bool get_libraries = false, json = false, quiet = false;

  report::LibraryOptions libraries() const { return {.cache = cache, .progress = terminal_progress(quiet)}; }
};

void print_line(const Json& json) { fmt::print("{}\n", json_text(json)); }

int get_libraries(const ReportOptions& options) {
  Json list = Json::array();
  for (const report::Library& library : report::get_libraries(options.libraries())) {
    list.push_back({{"name", library.name}, {"version", library.version}, {"file", library.file.string()}});
    if (!options.json) fmt::print("{} {}  {}\n", library.name, library.version, library.file.string());
  }
  if (options.json) print_line({{"libraries", list}});
  return 0;
}

report::StudyView open_study(const std::filesystem::path& folder, const std::string& build) {
  if (!std::filesystem::is_directory(folder))
    fail(ErrorKind::config, "report: '{}' is not a study's folder", folder.string());
  const study::Folder study{folder};
  const store::Store store(study.store(), store::Store::Access::read);
  report::StudyView view =
      report::make_study_view(store.study(), store.planned(), study::runs_of_build(study, build));
  if (view.cells.empty())
    fail(ErrorKind::config, "report: the study in '{}' has neither a plan nor a run", folder.string());
  return view;
}

// Addresses from the page's folder to the study's own files.
report::FileLinks links_of(const study::Folder& study, const report::StudyView& view,
                           const std::filesystem::path& page) {
  namespace fs = std::filesystem;
  const fs::path from = fs::absolute(page).lexically_normal().parent_path();
  const auto link = [&](const fs::path& file) {
    std::error_code error;
    if (!fs::exists(file, error)) return std::string();
    // "./" keeps a colon in a name from being read as a scheme.
    return "./" + report::address_of(fs::absolute(file).lexically_normal().lexically_relative(from));
  };
  report::FileLinks links{link(study.spec()), link(study.store()), link(study.records()), {}, {}};
  for (const record::RunRecord& run : view.runs) {
    if (std::string log = link(study.log(run.id)); !log.empty()) links.logs[run.id] = std::move(log);
    if (std::string file = link(study.record(run.id)); !file.empty())
      links.record_files[run.id] = std::move(file);
  }
  return links;
}

int write_report(const ReportOptions& options) {
  if (options.study.empty()) fail(ErrorKind::usage, "report: a study's folder is required");
  report::StudyView view = open_study(options.study, options.build);
  PageFiles files = options.files;
  if (files.page.empty()) files.page = options.study / "report.html";
  check_output_file(files.page);
  view.links = links_of(study::Folder{options.study}, view, files.page);
  const std::vector<report::Chart> charts = report::make_charts(view);
  const WrittenFiles written = write_page(files, charts, options.libraries(), [&](const auto& libraries) {
    return report::make_page(view, charts, libraries, static_cast<double>(std::time(nullptr)));
  });
  std::int64_t expected = 0, done = 0, warnings = 0;
  for (const report::CellView& cell : view.cells) {
    expected += cell.expected();
    done += std::ssize(cell.done);
  }
  for (const record::RunRecord& run : view.runs) warnings += std::ssize(run.warnings);
  if (!options.json) {
    print_written(written, fmt::format("{} of {} runs done", done, expected));
    return 0;
  }
  Json result{{"study", view.name},
              {"cells", view.cells.size()},
              {"runs_expected", expected},
              {"runs_done", done},
              {"warnings", warnings}};
  describe_written(written, result);
  print_line(result);
  return 0;
}

}  // namespace

std::function<int()> declare_report(Command& command) {
  const auto options = std::make_shared<ReportOptions>();
  command.description(
      "Write a study's results as one HTML file that needs no network, and its charts as files");
  command.add_option("study", options->study, "Folder of the study")->type_name("DIR");
  add_output_file(command, "--out", options->files.page,
                  "Where to write the page (default: report.html in the study's folder)");
  add_build_option(command, options->build);
  declare_chart_files(command, options->files);
  command.add_flag("--get-libraries", options->get_libraries,
                   "Only fetch the script libraries of the page, for a later use without network");
  command.add_option("--cache", options->cache, "Cache folder (default: ~/.cache/trainyard)")
      ->type_name("DIR");
  command.add_flag("--quiet", options->quiet, "No progress");
  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "Examples:\n"
      "  trainyard report results/smoke\n"
      "  trainyard report results/smoke --out smoke.html --charts figures --format svg");
  return [options, &command] {
    warn_of_idle_options(command,
                         {{options->files.charts.empty(), {"--format"}, "no files without --charts"},
                          {options->get_libraries, {"--out", "--charts"}, "--get-libraries writes no page"}});
    return options->get_libraries ? get_libraries(*options) : write_report(*options);
  };
}

}  // namespace trainyard::cli
