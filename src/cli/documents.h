#pragma once

#include <CLI/CLI.hpp>

#include "base/standard.h"

namespace trainyard::cli {

// Manual pages and completions are made from these texts, which come from the declarations behind --help.
struct OptionText {
  std::vector<std::string> names;  // "--steps", "-s"; a positional word: its name alone
  bool positional = false;
  bool takes_value = false;
  std::string value;  // as --help shows it behind the names: " TEXT=sgd", or ""
  std::string help;
  std::vector<std::string> choices;  // of a value that is one of a few words
};

struct CommandText {
  std::vector<std::string> path;  // {"trainyard", "study", "run"}
  std::string summary, footer;
  std::vector<OptionText> options;
  std::vector<CommandText> commands;  // below this one
};

// Leaves out what --help hides.
CommandText describe_command(const CLI::App& command);

// Writes one manual page, for section 1.
std::string manual_page(const CommandText& command);

// Writes one script for all commands below `program`.
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

// `trainyard documents DIR`, which --help does not list: writes DIR/man1/*.1 and DIR/bash, DIR/zsh, DIR/fish.
// The build calls it; what is installed comes from there.
std::function<int()> declare_documents(CLI::App& command);

}  // namespace trainyard::cli
