#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/chart.h"
#include "report/libraries.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

// Where a command writes a page and its charts; empty: not at all.
struct PageFiles {
  std::filesystem::path page, charts;
  std::string format = "svg";

  bool wanted() const { return !page.empty() || !charts.empty(); }
};

// --charts and --format; the page's own option differs by command.
void declare_chart_files(CLI::App& command, PageFiles& files);

// What was written; nothing where nothing was wanted.
struct WrittenFiles {
  std::filesystem::path page;
  std::size_t bytes = 0;  // of the page
  std::vector<std::filesystem::path> images;
  std::vector<report::Chart> charts;
};
WrittenFiles write_page(const PageFiles& files, std::vector<report::Chart> charts,
                        const report::LibraryOptions& options,
                        const std::function<std::string(const std::vector<report::Library>&)>& make_page);

// What --json says of them: report, bytes, charts and left_out by their ids, files.
void describe_written(const WrittenFiles& written, nlohmann::ordered_json& result);
// What people see of them, a line each; `what` tells what the page is of.
void print_written(const WrittenFiles& written, const std::string& what);

}  // namespace trainyard::cli
