#pragma once

#include "cli/command.h"

namespace trainyard::cli {

// Manual pages and completions are made from these texts, which come from the declarations behind --help.
struct CommandText {
  std::vector<std::string> path;  // {"trainyard", "study", "run"}
  std::string summary, footer;
  std::vector<OptionText> options;
  std::vector<CommandText> commands;  // below this one
};

// Leaves out what --help hides.
CommandText describe_command(const Command& command);

// Writes one manual page, for section 1.
std::string manual_page(const CommandText& command);

// Writes one script for all commands below `program`.
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

// `trainyard documents DIR`, which --help does not list: writes DIR/man1/*.1 and DIR/bash, DIR/zsh, DIR/fish.
// The build calls it; what is installed comes from there.
std::function<int()> declare_documents(Command& command);

}  // namespace trainyard::cli
