#include "cli/page_files.h"

#include <cstdio>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "report/export_charts.h"

namespace trainyard::cli {

void declare_chart_files(Command& command, PageFiles& files) {
  add_output_folder(command, "--charts", files.charts, "Also draw every chart into a file of this folder");
  command.add_option("--format", files.format, "Of these files: svg or png")
      ->check(one_of({"svg", "png"}))
      ->capture_default_str();
}

WrittenFiles write_page(const PageFiles& files, std::vector<report::Chart> charts,
                        const report::LibraryOptions& options,
                        const std::function<std::string(const std::vector<report::Library>&)>& make_page) {
  if (!files.wanted()) return {};
  const std::vector<report::Library> libraries = report::get_libraries(options);
  WrittenFiles written{files.page, 0, {}, {}};
  if (!files.page.empty()) {
    const std::string page = make_page(libraries);
    AtomicFile file(files.page);
    file.write(page);
    file.commit();
    written.bytes = page.size();
  }
  if (!files.charts.empty())
    written.images =
        report::export_charts(charts, libraries, files.charts,
                              files.format == "png" ? report::ImageFormat::png : report::ImageFormat::svg);
  written.charts = std::move(charts);
  return written;
}

void describe_written(const WrittenFiles& written, Json& result) {
  if (written.charts.empty()) return;
  result["charts"] = result["left_out"] = result["files"] = Json::array();
  for (const report::Chart& chart : written.charts) {
    if (chart.spec.empty())
      result["left_out"].push_back({{"id", chart.id}, {"reason", chart.left_out}});
    else
      result["charts"].push_back({{"id", chart.id}, {"title", chart.title}});
  }
  if (!written.page.empty()) {
    result["report"] = written.page.string();
    result["bytes"] = written.bytes;
  }
  for (const std::filesystem::path& image : written.images) result["files"].push_back(image.string());
}

void print_written(const WrittenFiles& written, const std::string& what) {
  const auto drawn = std::count_if(written.charts.begin(), written.charts.end(),
                                   [](const report::Chart& chart) { return !chart.spec.empty(); });
  if (!written.page.empty())
    fmt::print("{}: {}, {} charts, {}\n", written.page.string(), what, drawn,
               format_bytes(static_cast<std::int64_t>(written.bytes)));
  for (const std::filesystem::path& image : written.images) fmt::print("{}\n", image.string());
}

}  // namespace trainyard::cli
