#pragma once

#include "cli/command.h"
#include "report/chart.h"
#include "report/libraries.h"

namespace trainyard {
class Json;
}

namespace trainyard::cli {

// The files into which a command writes a page and its charts; an empty path means that it writes none.
struct PageFiles {
  std::filesystem::path page, charts;
  std::string format = "svg";

  bool wanted() const { return !page.empty() || !charts.empty(); }
};

// --charts and --format; the page's own option differs by command.
void declare_chart_files(Command& command, PageFiles& files);

// The files that were written; empty when none were wanted.
struct WrittenFiles {
  std::filesystem::path page;
  std::size_t bytes = 0;  // of the page
  std::vector<std::filesystem::path> images;
  std::vector<report::Chart> charts;
};
WrittenFiles write_page(const PageFiles& files, std::vector<report::Chart> charts,
                        const report::LibraryOptions& options,
                        const std::function<std::string(const std::vector<report::Library>&)>& make_page);

// Adds to `result` what --json says of the files: report, bytes, charts and left_out by their ids, files.
void describe_written(const WrittenFiles& written, Json& result);
// Prints one line for each file; `what` names the subject of the page.
void print_written(const WrittenFiles& written, const std::string& what);

}  // namespace trainyard::cli
