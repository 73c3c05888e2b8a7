#pragma once

#include "base/standard.h"

// The parser of the command line, CLI11, behind a door: it is all header, which costs every source that
// includes it seconds. command.cpp alone does. What the methods mean is what CLI11's of the same names do.
namespace trainyard::cli {

// Looks at what was given for an option and returns what is wrong with it, or "".
struct Check {
  std::function<std::string(std::string& given)> complaint;
  std::string brief;  // --help shows it behind the option's type
};

// An option as --help, manual pages and completions show it.
struct OptionText {
  std::vector<std::string> names;  // "--steps", "-s"; a positional word: its name alone
  bool positional = false;
  bool takes_value = false;
  std::string value;  // as --help shows it behind the names: " TEXT=sgd", or ""
  std::string help;
  std::vector<std::string> choices;  // of a value that is one of a few words
};

// A declared option; its command owns it. Methods return this, so that they are chained.
class Option {
 public:
  ~Option();
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;

  Option* required();
  Option* type_name(const std::string& name);
  Option* capture_default_str();  // the default is what the variable holds now
  Option* default_str(const std::string& text);
  Option* delimiter(char between);
  Option* allow_extra_args(bool allow);
  Option* transform(Check check);  // it comes before others, and may change what was given
  Option* check(Check check);      // it changes nothing
  Option* needs(Option* other);
  Option* excludes(Option* other);
  Option* excludes(const std::string& name);

  std::string name() const;
  std::string default_text() const;
  // These tell what the command line gave, once it is parsed.
  std::size_t count() const;
  const std::vector<std::string>& results() const;

 private:
  friend class Command;
  struct Declared;
  explicit Option(std::unique_ptr<Declared> declared);
  const std::unique_ptr<Declared> declared_;
};

// A command with its options and the commands below it, which it owns. Variables that are bound to options
// must outlive parse().
class Command {
 public:
  Command(const std::string& summary, const std::string& name);  // the program
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // Names: "--out,-o", or "folder" for a word without option. command.cpp lists the types that T may be.
  template <typename T>
  Option* add_option(const std::string& names, T& value, const std::string& help = "");
  Option* add_option_function(const std::string& names, std::function<void(const std::string&)> take,
                              const std::string& help);
  // The option may be given several times; `take` gets all of it at once.
  Option* add_option_function(const std::string& names,
                              std::function<void(const std::vector<std::string>&)> take,
                              const std::string& help);
  Option* add_flag(const std::string& names, bool& value, const std::string& help);
  Option* add_flag(const std::string& names, std::string& value, const std::string& help);
  void set_version_flag(const std::string& names, std::function<std::string()> text, const std::string& help);
  Command* add_subcommand(const std::string& name, const std::string& summary);
  void require_subcommand(int count);
  void description(const std::string& text);
  void footer(const std::string& text);
  void group(const std::string& name);  // "" hides the command

  Option* get_option(const std::string& name);
  const Option* get_option(const std::string& name) const;

  struct Parsed {
    enum class Outcome { good, told, mistake };  // told: --help or --version was asked
    Outcome outcome = Outcome::good;
    std::string text;  // what they tell, or what is wrong
  };
  // Reads a command line into the variables. What functions of options throw passes through.
  Parsed parse(int argc, const char* const* argv);
  bool parsed() const;            // the command line named this command
  const Command* chosen() const;  // the command below this one that it named

  std::string name() const;
  std::string summary() const;
  std::string footer() const;
  bool hidden() const;
  bool takes_words() const;  // an option may be given by its place
  const Command* parent() const { return parent_; }
  std::vector<const Command*> commands() const;      // all below this one, in their order
  std::vector<OptionText> describe_options() const;  // those that are not hidden

 private:
  struct Parser;
  Command(Command* parent, std::unique_ptr<Parser> parser);

  Command* const parent_ = nullptr;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace trainyard::cli
