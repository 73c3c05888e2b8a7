#include "cli/documents.h"

#include "base/file.h"
#include "base/text.h"
#include "meter/provenance.h"

namespace trainyard::cli {

namespace {

void write_document(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

void write_manual(const CommandText& command, const std::filesystem::path& folder) {
  write_document(folder / fmt::format("{}.1", joined(command.path, "-")), manual_page(command));
  for (const CommandText& below : command.commands) write_manual(below, folder);
}

}  // namespace

CommandText describe_command(const Command& command) {
  CommandText text{.path = {},
                   .summary = command.summary(),
                   .footer = command.footer(),
                   .options = command.describe_options(),
                   .commands = {}};
  for (const Command* level = &command; level != nullptr; level = level->parent())
    text.path.insert(text.path.begin(), level->name());
  for (const Command* below : command.commands())
    if (!below->hidden()) text.commands.push_back(describe_command(*below));
  return text;
}

std::function<int()> declare_documents(Command& command) {
  const auto folder = std::make_shared<std::filesystem::path>();
  command.group("");
  command.add_option("folder", *folder, "Where to write manual pages and completions")
      ->required()
      ->type_name("DIR");
  return [folder, &command] {
    const CommandText program = describe_command(*command.parent());
    write_manual(program, *folder / "man1");
    write_document(*folder / "bash", bash_completion(program));
    write_document(*folder / "zsh", zsh_completion(program));
    write_document(*folder / "fish", fish_completion(program));
    return 0;
  };
}

namespace {

// Returns text as roff shows it unchanged.
std::string roff(const std::string& text) {
  std::string safe;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) safe += "\\&";
    if (c == '\\')
      safe += "\\e";
    else if (c == '-')
      safe += "\\-";
    else
      safe += c;
    line_begins = c == '\n';
  }
  return safe;
}

std::string page_name(const CommandText& command) { return joined(command.path, "-"); }

std::string option_entry(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  return fmt::format(".TP\n{}{}\n{}\n", names, roff(option.value), roff(option.help));
}

void add_option_section(std::string& page, const CommandText& command, bool positional, const char* title) {
  std::string entries;
  for (const OptionText& option : command.options)
    if (option.positional == positional) entries += option_entry(option);
  if (!entries.empty()) page += fmt::format(".SH {}\n{}", title, entries);
}

std::string synopsis(const CommandText& command) {
  std::string line = fmt::format("\\fB{}\\fR", roff(joined(command.path, " ")));
  if (!command.commands.empty()) line += " \\fICOMMAND\\fR";
  for (const OptionText& option : command.options)
    if (option.positional) line += fmt::format(" \\fI{}\\fR", roff(option.names.front()));
  return line + " [\\fIOPTION\\fR...]\n";
}

}  // namespace

std::string manual_page(const CommandText& command) {
  const std::string name = page_name(command);
  std::string page = fmt::format(".TH \"{}\" 1 \"\" \"trainyard {}\" \"User Commands\"\n", name,
                                 meter::build_info().version);
  page += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(command.summary));
  page += ".SH SYNOPSIS\n" + synopsis(command);
  if (!command.commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const CommandText& below : command.commands)
      page += fmt::format(".TP\n\\fB{}\\fR\n{}; see {}(1)\n", roff(below.path.back()), roff(below.summary),
                          roff(page_name(below)));
  }
  add_option_section(page, command, true, "ARGUMENTS");
  add_option_section(page, command, false, "OPTIONS");
  // The footer has its own line breaks: remarks, then examples.
  if (!command.footer.empty()) page += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(command.footer));
  std::string others = command.path.size() > 1 ? "trainyard(1)" : "";
  if (command.path.size() > 2)
    others += fmt::format(", {}(1)", roff(fmt::format("{}-{}", command.path[0], command.path[1])));
  if (!others.empty()) page += ".SH SEE ALSO\n" + others + "\n";
  return page;
}

}  // namespace trainyard::cli
