#pragma once

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

namespace trainyard::cli {

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

}  // namespace trainyard::cli
