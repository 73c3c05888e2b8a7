#include "cli/command.h"

#include <sstream>

#include <CLI/CLI.hpp>

namespace trainyard::cli {

struct Option::Declared {
  CLI::Option* option;
};

struct Command::Parser {
  std::unique_ptr<CLI::App> program;  // null in commands below it
  CLI::App* app;
  std::vector<std::unique_ptr<Command>> commands = {};
  std::map<CLI::Option*, std::unique_ptr<Option>> options = {};

  Option* ours(CLI::Option* option) {
    std::unique_ptr<Option>& known = options[option];
    if (known == nullptr) known.reset(new Option(std::make_unique<Option::Declared>(option)));
    return known.get();
  }
};

namespace {

CLI::Validator validator_of(Check check) {
  return CLI::Validator(std::move(check.complaint), std::move(check.brief));
}

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

}  // namespace

Option::Option(std::unique_ptr<Declared> declared) : declared_(std::move(declared)) {}

Option::~Option() = default;

Option* Option::required() {
  declared_->option->required();
  return this;
}

Option* Option::type_name(const std::string& name) {
  declared_->option->type_name(name);
  return this;
}

Option* Option::capture_default_str() {
  declared_->option->capture_default_str();
  return this;
}

Option* Option::default_str(const std::string& text) {
  declared_->option->default_str(text);
  return this;
}

Option* Option::delimiter(char between) {
  declared_->option->delimiter(between);
  return this;
}

Option* Option::allow_extra_args(bool allow) {
  declared_->option->allow_extra_args(allow);
  return this;
}

Option* Option::transform(Check check) {
  declared_->option->transform(validator_of(std::move(check)));
  return this;
}

Option* Option::check(Check check) {
  declared_->option->check(validator_of(std::move(check)));
  return this;
}

Option* Option::needs(Option* other) {
  declared_->option->needs(other->declared_->option);
  return this;
}

Option* Option::excludes(Option* other) {
  declared_->option->excludes(other->declared_->option);
  return this;
}

Option* Option::excludes(const std::string& name) {
  declared_->option->excludes<CLI::App>(name);
  return this;
}

std::string Option::name() const { return declared_->option->get_name(); }
std::string Option::default_text() const { return declared_->option->get_default_str(); }
std::size_t Option::count() const { return declared_->option->count(); }
const std::vector<std::string>& Option::results() const { return declared_->option->results(); }

Command::Command(const std::string& summary, const std::string& name) : parser_(new Parser{}) {
  parser_->program = std::make_unique<CLI::App>(summary, name);
  parser_->app = parser_->program.get();
}

Command::Command(Command* parent, std::unique_ptr<Parser> parser)
    : parent_(parent), parser_(std::move(parser)) {}

Command::~Command() = default;

template <typename T>
Option* Command::add_option(const std::string& names, T& value, const std::string& help) {
  return parser_->ours(parser_->app->add_option(names, value, help));
}

Option* Command::add_option_function(const std::string& names, std::function<void(const std::string&)> take,
                                     const std::string& help) {
  return parser_->ours(parser_->app->add_option_function<std::string>(names, take, help));
}

Option* Command::add_option_function(const std::string& names,
                                     std::function<void(const std::vector<std::string>&)> take,
                                     const std::string& help) {
  CLI::Option* option = parser_->app->add_option_function<std::vector<std::string>>(names, take, help);
  return parser_->ours(option->allow_extra_args(false));
}

Option* Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  return parser_->ours(parser_->app->add_flag(names, value, help));
}

Option* Command::add_flag(const std::string& names, std::string& value, const std::string& help) {
  return parser_->ours(parser_->app->add_flag(names, value, help));
}

void Command::set_version_flag(const std::string& names, std::function<std::string()> text,
                               const std::string& help) {
  parser_->app->set_version_flag(names, std::move(text), help);
}

Command* Command::add_subcommand(const std::string& name, const std::string& summary) {
  auto parser = std::make_unique<Parser>();
  parser->app = parser_->app->add_subcommand(name, summary);
  parser_->commands.emplace_back(new Command(this, std::move(parser)));
  return parser_->commands.back().get();
}

void Command::require_subcommand(int count) { parser_->app->require_subcommand(count); }
void Command::description(const std::string& text) { parser_->app->description(text); }
void Command::footer(const std::string& text) { parser_->app->footer(text); }
void Command::group(const std::string& name) { parser_->app->group(name); }

Option* Command::get_option(const std::string& name) { return parser_->ours(parser_->app->get_option(name)); }

const Option* Command::get_option(const std::string& name) const {
  return parser_->ours(parser_->app->get_option(name));
}

Command::Parsed Command::parse(int argc, const char* const* argv) {
  try {
    parser_->app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return {Parsed::Outcome::mistake, error.what()};
    std::ostringstream text;
    parser_->app->exit(error, text, text);
    return {Parsed::Outcome::told, text.str()};
  }
  return {};
}

bool Command::parsed() const { return parser_->app->parsed(); }

const Command* Command::chosen() const {
  for (const CLI::App* app : parser_->app->get_subcommands())  // as the command line has them
    for (const std::unique_ptr<Command>& below : parser_->commands)
      if (below->parser_->app == app) return below.get();
  return nullptr;
}

std::string Command::name() const { return parser_->app->get_name(); }
std::string Command::summary() const { return parser_->app->get_description(); }
std::string Command::footer() const { return parser_->app->get_footer(); }
bool Command::hidden() const { return parser_->app->get_group().empty(); }

bool Command::takes_words() const {
  return !parser_->app->get_options([](const CLI::Option* o) { return o->get_positional(); }).empty();
}

std::vector<const Command*> Command::commands() const {
  std::vector<const Command*> all;
  for (const std::unique_ptr<Command>& below : parser_->commands) all.push_back(below.get());
  return all;
}

std::vector<OptionText> Command::describe_options() const {
  std::vector<OptionText> texts;
  const CLI::App& app = *parser_->app;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) texts.push_back(describe_option(app, *option));
  return texts;
}

// The types of variables that options are bound to: another one is one line more.
// NOLINTBEGIN(bugprone-macro-parentheses): a type takes none
#define TRAINYARD_OPTION_OF(Type) \
  template Option* Command::add_option(const std::string& names, Type& value, const std::string& help)
// NOLINTEND(bugprone-macro-parentheses)
TRAINYARD_OPTION_OF(bool);
TRAINYARD_OPTION_OF(int);
TRAINYARD_OPTION_OF(double);
TRAINYARD_OPTION_OF(std::int64_t);
TRAINYARD_OPTION_OF(std::uint64_t);
TRAINYARD_OPTION_OF(std::uint32_t);
TRAINYARD_OPTION_OF(std::string);
TRAINYARD_OPTION_OF(std::filesystem::path);
TRAINYARD_OPTION_OF(std::optional<int>);
TRAINYARD_OPTION_OF(std::optional<double>);
TRAINYARD_OPTION_OF(std::vector<int>);
TRAINYARD_OPTION_OF(std::vector<std::uint64_t>);
TRAINYARD_OPTION_OF(std::vector<std::string>);
TRAINYARD_OPTION_OF(std::vector<std::filesystem::path>);

}  // namespace trainyard::cli
