#pragma once

#include "cli/command.h"
#include "process/child.h"

namespace trainyard::cli {

using process::exit_code;
using process::kCallerCanMendIt;
using process::kInterrupted;
using process::kRunFailed;

// Adds an option that names a file, or a folder, which the command will write. main() looks at all that were
// given before the command begins, so that nobody works for an hour and then cannot write.
Option* add_output_file(Command& command, const std::string& names, std::filesystem::path& path,
                        const std::string& help);
Option* add_output_folder(Command& command, const std::string& names, std::filesystem::path& path,
                          const std::string& help);

// Leaves the checks to the command that starts this one with words of its own: it has looked, and this one
// may run on a machine where these paths are not.
void leave_outputs_to_starter(const Command& command);

// Error (config) names the option and the first output that was given and cannot be written. Looks at nothing
// in a rank other than 0, which writes nothing.
void check_outputs();

// Prints one line on standard error about a command that was asked to stop; returns its exit code.
int report_interrupted(const std::string& what);

// main() calls this first: a file that is opened later must not become standard output because that was
// closed. Printing to a closed output is then an error, like printing to a full one.
void hold_standard_streams();

// main() calls this last: it prints what is still buffered. Says on standard error why that, or what was
// printed before, could not be written (`earlier_errno`, where it is known), and returns whether all was.
bool finish_standard_output(int earlier_errno);

}  // namespace trainyard::cli
