#include "cli/documents.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/file.h"

namespace trainyard::cli {
namespace {

// "TEXT:{sgd,adam}" -> sgd, adam.
std::vector<std::string> choices_in(const std::string& type) {
  std::vector<std::string> choices;
  const std::size_t open = type.find('{'), close = type.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return choices;
  for (const std::string& word : CLI::detail::split(type.substr(open + 1, close - open - 1), ','))
    choices.push_back(CLI::detail::trim_copy(word));
  return choices;
}

OptionText describe_option(const CLI::App& command, const CLI::Option& option) {
  OptionText text{.names = {},
                  .positional = option.get_positional() && option.get_lnames().empty(),
                  .takes_value = option.get_items_expected_max() > 0,
                  .value = "",
                  .help = option.get_description(),
                  .choices = choices_in(option.get_type_name())};
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  if (text.positional) text.names = {option.get_name(true)};
  const auto* formatter = dynamic_cast<const CLI::Formatter*>(command.get_formatter().get());
  if (formatter != nullptr) text.value = formatter->make_option_opts(&option);
  return text;
}

void write_document(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

void write_manual(const CommandText& command, const std::filesystem::path& folder) {
  write_document(folder / fmt::format("{}.1", fmt::join(command.path, "-")), manual_page(command));
  for (const CommandText& below : command.commands) write_manual(below, folder);
}

}  // namespace

CommandText describe_command(const CLI::App& command) {
  CommandText text{.path = {},
                   .summary = command.get_description(),
                   .footer = command.get_footer(),
                   .options = {},
                   .commands = {}};
  for (const CLI::App* level = &command; level != nullptr; level = level->get_parent())
    text.path.insert(text.path.begin(), level->get_name());
  for (const CLI::Option* option : command.get_options())
    if (!option->get_group().empty()) text.options.push_back(describe_option(command, *option));
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    if (!below->get_group().empty()) text.commands.push_back(describe_command(*below));
  return text;
}

std::function<int()> declare_documents(CLI::App& command) {
  const auto folder = std::make_shared<std::filesystem::path>();
  command.group("");
  command.add_option("folder", *folder, "Where to write manual pages and completions")
      ->required()
      ->type_name("DIR");
  return [folder, &command] {
    const CommandText program = describe_command(*command.get_parent());
    write_manual(program, *folder / "man1");
    write_document(*folder / "bash", bash_completion(program));
    write_document(*folder / "zsh", zsh_completion(program));
    write_document(*folder / "fish", fish_completion(program));
    return 0;
  };
}

}  // namespace trainyard::cli
