#pragma once

namespace CLI {
class App;
}

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "report/chart.h"
#include "report/libraries.h"

namespace trainyard::cli {

// What a shell or a study can tell apart.
inline constexpr int kCallerCanMendIt = 1, kRunFailed = 2, kInterrupted = 130;

inline int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::config:
    case ErrorKind::shape:
    case ErrorKind::unsupported:
      return kCallerCanMendIt;
    case ErrorKind::io:
    case ErrorKind::peer:
    case ErrorKind::device:
    case ErrorKind::internal:
      return kRunFailed;
    case ErrorKind::interrupted:
      return kInterrupted;
  }
  return kRunFailed;
}

// An option that names a file, or a folder, which the command will write. main() looks at all that were given
// before the command begins, so that nobody works for an hour and then cannot write.
CLI::Option* add_output_file(CLI::App& command, const std::string& names, std::filesystem::path& path,
                             const std::string& help);
CLI::Option* add_output_folder(CLI::App& command, const std::string& names, std::filesystem::path& path,
                               const std::string& help);

// For a command that others start with their own words: they have looked, and it may run on a machine where
// these paths are not.
void leave_outputs_to_starter(const CLI::App& command);

// Error (config) names the option and the first output that was given and cannot be written. Looks at nothing
// in a rank other than 0, which writes nothing.
void check_outputs();

// Says on standard error in one line what became of a command that was asked to stop; its exit code.
int report_interrupted(const std::string& what);

// First thing in main(): a file that is opened later must not become standard output because that was closed.
// What is printed is then an error, as it is where the output is full.
void hold_standard_streams();

// Last thing in main(): what is still to be printed. Says on standard error why that, or what was printed
// before, could not be written (`earlier_errno`, where it is known), and returns whether all was.
bool finish_standard_output(int earlier_errno);

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
