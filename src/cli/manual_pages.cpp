#include <fmt/format.h>

#include "cli/documents.h"
#include "meter/provenance.h"

namespace trainyard::cli {
namespace {

// Text as roff shows it unchanged.
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

std::string page_name(const CommandText& command) { return fmt::format("{}", fmt::join(command.path, "-")); }

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
  std::string line = fmt::format("\\fB{}\\fR", roff(fmt::format("{}", fmt::join(command.path, " "))));
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
