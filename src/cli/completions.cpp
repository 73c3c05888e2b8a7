#include "base/text.h"
#include "cli/documents.h"

// Each script first finds the command that the words so far name, as " study run", and then offers its
// options, its subcommands, and the words that the option before allows.

namespace trainyard::cli {
namespace {

// Visits a command and all below it, the program first.
void visit_commands(const CommandText& command, const std::function<void(const CommandText&)>& act) {
  act(command);
  for (const CommandText& below : command.commands) visit_commands(below, act);
}

// " study run"; "" for the program.
std::string key_of(const CommandText& command) {
  std::string key;
  for (std::size_t i = 1; i < command.path.size(); ++i) key += " " + command.path[i];
  return key;
}

// Puts the text into single quotes of a shell, which writes one quote inside them as `quote`.
std::string in_quotes(const std::string& text, const char* quote) {
  std::string safe = "'";
  for (const char c : text)
    safe += c == '\'' ? std::string(quote) : c == '\n' ? std::string(" ") : std::string(1, c);
  return safe + "'";
}

std::string all_keys(const CommandText& program, const char* between) {
  std::string keys;
  visit_commands(program, [&](const CommandText& command) {
    if (command.path.size() > 1) keys += fmt::format("{}'{}'", keys.empty() ? "" : between, key_of(command));
  });
  return keys;
}

std::string offered_words(const CommandText& command) {
  std::vector<std::string> words;
  for (const CommandText& below : command.commands) words.push_back(below.path.back());
  for (const OptionText& option : command.options)
    if (!option.positional) words.insert(words.end(), option.names.begin(), option.names.end());
  return joined(words, " ");
}

}  // namespace

std::string bash_completion(const CommandText& program) {
  std::string cases, values;
  visit_commands(program, [&](const CommandText& command) {
    cases += fmt::format("    '{}') words='{}' ;;\n", key_of(command), offered_words(command));
    for (const OptionText& option : command.options)
      for (const std::string& name : option.names)
        if (!option.choices.empty() && !option.positional)
          values +=
              fmt::format("    '{} {}') words='{}' ;;\n", key_of(command), name, joined(option.choices, " "));
  });
  return fmt::format(R"(# bash completion of trainyard, written by `trainyard documents`.
_trainyard() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command= words= i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${{COMP_WORDS[i]}}" in
      {}) command+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command" in
{}  esac
  case "$command $before" in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _trainyard trainyard
)",
                     all_keys(program, " | "), cases, values);
}

std::string zsh_completion(const CommandText& program) {
  constexpr const char* kQuote = "'\\''";
  std::string cases;
  visit_commands(program, [&](const CommandText& command) {
    std::string commands, options, values;
    for (const CommandText& below : command.commands)
      commands += " " + in_quotes(below.path.back() + ":" + below.summary, kQuote);
    for (const OptionText& option : command.options) {
      for (const std::string& name : option.names)
        if (!option.positional) options += "\n        " + in_quotes(name + ":" + option.help, kQuote);
      if (!option.choices.empty() && !option.positional)
        values += fmt::format("\n        {}) values=({}) ;;", joined(option.names, " | "),
                              joined(option.choices, " "));
    }
    cases += fmt::format("    '{}')\n      commands=({})\n      options=({})\n", key_of(command), commands,
                         options);
    if (!values.empty()) cases += fmt::format("      case \"$before\" in{}\n      esac\n", values);
    cases += "      ;;\n";
  });
  return fmt::format(R"(#compdef trainyard
# zsh completion of trainyard, written by `trainyard documents`.
_trainyard() {{
  local command= before=${{words[CURRENT - 1]}} word
  local -a commands options values
  for word in ${{words[2, CURRENT - 1]}}; do
    case "$command $word" in
      {}) command+=" $word" ;;
    esac
  done
  case "$command" in
{}  esac
  if (( $#values )); then
    compadd -a values
  elif [[ $PREFIX == -* ]]; then
    _describe option options
  else
    (( $#commands )) && _describe command commands
    _files
  fi
}}
_trainyard "$@"
)",
                     all_keys(program, " | "), cases);
}

std::string fish_completion(const CommandText& program) {
  constexpr const char* kQuote = "\\'";
  std::string lines;
  visit_commands(program, [&](const CommandText& command) {
    const std::string at = fmt::format("complete -c trainyard -n \"__trainyard_at '{}'\"", key_of(command));
    for (const CommandText& below : command.commands)
      lines += fmt::format("{} -f -a {} -d {}\n", at, below.path.back(), in_quotes(below.summary, kQuote));
    for (const OptionText& option : command.options) {
      if (option.positional) continue;
      std::string names;
      for (const std::string& name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      const std::string value = !option.choices.empty()
                                    ? fmt::format(" -x -a '{}'", joined(option.choices, " "))
                                : option.takes_value ? " -r"
                                                     : "";
      lines += fmt::format("{}{}{} -d {}\n", at, names, value, in_quotes(option.help, kQuote));
    }
  });
  return fmt::format(R"(# fish completion of trainyard, written by `trainyard documents`.
function __trainyard_at
  set -l command ''
  for word in (commandline -opc)[2..-1]
    if contains -- "$command $word" {}
      set command "$command $word"
    end
  end
  test "$command" = "$argv[1]"
end
{})",
                     all_keys(program, " "), lines);
}

}  // namespace trainyard::cli
