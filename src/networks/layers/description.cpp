#include "networks/layers/description.h"

#include "base/text.h"
#include "networks/layers/layer_builder.h"
#include "record/settings.h"

namespace trainyard::networks::layers {
namespace {

using generator::Parameter;
using yaml::YamlReader;
using Entry = YamlReader::Entry;
using Readers = std::map<std::string, std::function<void(const Entry&)>>;

constexpr std::int64_t kMostOfParameter = std::int64_t{1} << 24;

void read_keys(const YamlReader& mapping, const std::string& of, const Readers& readers) {
  std::vector<std::string> names;
  for (const auto& [name, reader] : readers) names.push_back(name);
  for (const Entry& entry : mapping.entries()) {
    const auto found = readers.find(entry.key);
    if (found == readers.end())
      entry.at_key.complain(fmt::format("unknown key '{}' of {}{}: one of {} expected", entry.key, of,
                                        did_you_mean(entry.key, names), joined(names, ", ")));
    found->second(entry);
  }
}

bool yes(const YamlReader& at) {
  const std::string given = at.one_of({"yes", "no", "true", "false"});
  return given == "yes" || given == "true";
}

double number_of(const InputRow& row, const Text& given, const Variables& variables) {
  double value = 0;
  try {
    value = evaluate(given.text, variables);
  } catch (const Error& error) {
    complain(given.place, fmt::format("{}: {}", row.name, error.what()));
  }
  if (value < row.least || value > row.most || value != std::floor(value))
    complain(given.place, fmt::format("{} {}: a whole number from {:g} to {:g} expected", row.name,
                                      given.text, row.least, row.most));
  return value;
}

std::vector<std::string> names_of(InputKind kind) {
  std::vector<std::string> names;
  for (const InputRow& row : input_rows(kind)) names.emplace_back(row.name);
  return names;
}

void read_input(const YamlReader& at, Description& description) {
  Readers readers;
  for (const InputKind kind : {InputKind::image, InputKind::features, InputKind::sequence})
    for (const std::string& name : names_of(kind))
      readers[name] = [&description, kind, name](const Entry& entry) {
        if (!description.input.empty() && description.kind != kind)
          entry.at_key.complain(
              fmt::format("'{}' is of another input than '{}'", name, description.input.begin()->first));
        description.kind = kind;
        description.input[name] = {entry.value.text(), entry.value.place()};
      };
  readers["masked"] = [&](const Entry& entry) { description.masked = yes(entry.value); };
  read_keys(at, "input", readers);
  if (description.input.empty())
    at.complain("height, width and channels of images, features, or length and vocabulary expected");
  for (const std::string& name : names_of(description.kind))
    if (!description.input.contains(name))
      at.complain(fmt::format("{} is missing, beside {}", name, description.input.begin()->first));
  if (description.masked && description.kind != InputKind::sequence) at.complain("masked: of sequences only");
}

// A number, or a word among choices: {default: 64, from: 8, to: 512, about: "..."}.
Parameter parameter_at(const Entry& entry) {
  Parameter parameter{.name = entry.key, .about = "a parameter of this network", .largest = kMostOfParameter};
  const YamlReader* fallback = &entry.value;
  std::optional<YamlReader> given;
  if (entry.value.is_mapping()) {
    const record::NumberRange range = record::NumberRange::whole(0, kMostOfParameter);
    read_keys(entry.value, "a parameter",
              {{"default", [&](const Entry& key) { given = key.value; }},
               {"from", [&](const Entry& key) { parameter.smallest = key.value.integer(range); }},
               {"to", [&](const Entry& key) { parameter.largest = key.value.integer(range); }},
               {"about", [&](const Entry& key) { parameter.about = key.value.text(); }},
               {"choices", [&](const Entry& key) {
                  for (const YamlReader& choice : key.value.items())
                    parameter.choices.push_back(choice.text());
                }}});
    if (!given) entry.at_key.complain(fmt::format("parameter '{}' has no default", entry.key));
    fallback = &*given;
  }
  parameter.fallback = fallback->text();
  const record::Value value = fallback->value();
  if (!parameter.is_word() && std::holds_alternative<double>(value)) {
    parameter.is_fraction = true;
    if (!entry.value.is_mapping()) parameter.smallest = 0;
  }
  try {
    generator::Parameters("", {parameter}, {});
  } catch (const Error&) {
    fallback->complain(fmt::format("parameter '{}' is '{}': {} expected", entry.key, parameter.fallback,
                                   parameter.allowed()));
  }
  return parameter;
}

// A name that stands for something else already would be two settings of one name in records.
void want_free_name(const Entry& entry) {
  const bool plain = !entry.key.empty() && entry.key.size() <= 64 &&
                     std::isalpha(static_cast<unsigned char>(entry.key.front())) != 0 &&
                     std::all_of(entry.key.begin(), entry.key.end(),
                                 [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!plain) entry.at_key.complain(fmt::format("parameter '{}': letters, digits and _ expected", entry.key));
  std::vector<std::string> taken{"input", "parameters", "length", "vocabulary"};
  for (const record::SettingInfo& setting : record::all_settings()) taken.push_back(setting.name);
  if (std::find(taken.begin(), taken.end(), entry.key) != taken.end())
    entry.at_key.complain(fmt::format("parameter '{}': a setting of runs has this name", entry.key));
}

// Length and vocabulary of sequences are parameters, as those of generated networks are.
void add_sizes_of_sequences(Description& description) {
  for (const InputRow& row : input_rows(InputKind::sequence)) {
    const Text& given = description.input.at(row.name);
    const double size = number_of(row, given, {});
    if (std::string_view(row.name) == "vocabulary") description.classes = static_cast<int>(size);
    description.parameters.push_back({row.name, row.about, given.text, static_cast<std::int64_t>(row.least),
                                      static_cast<std::int64_t>(row.most)});
  }
}

}  // namespace

const std::vector<InputRow>& input_rows(InputKind kind) {
  static const std::vector<InputRow> kImage = {{"height", "rows of pixels", 1, 16384},
                                               {"width", "columns of pixels", 1, 16384},
                                               {"channels", "of each pixel, such as 3 of colours", 1, 4096}};
  static const std::vector<InputRow> kFeatures = {{"features", "numbers of a sample", 1, 1 << 24}};
  static const std::vector<InputRow> kSequence = {{"length", "steps of a sequence", 1, 65536},
                                                  {"vocabulary", "different tokens", 2, 1 << 24}};
  return kind == InputKind::image ? kImage : kind == InputKind::features ? kFeatures : kSequence;
}

Variables Description::variables(const generator::Parameters& parameters) {
  return {parameters.all().begin(), parameters.all().end()};
}

Shape Description::input_shape(const Variables& variables) const {
  if (kind == InputKind::sequence) return {static_cast<std::int64_t>(evaluate("$length", variables))};
  const auto size = [&](std::size_t row) {
    const InputRow& found = input_rows(kind)[row];
    return static_cast<std::int64_t>(number_of(found, input.at(found.name), variables));
  };
  if (kind == InputKind::features) return {size(0)};
  return {size(2), size(0), size(1)};
}

Description read_description(const YamlReader& file) {
  Description description{.preprocess = "unit"};
  std::optional<YamlReader> layers, input, classes_at;
  read_keys(file, "a network",
            {{"name", [&](const Entry& entry) { description.name = entry.value.text(); }},
             {"about", [&](const Entry& entry) { description.about = entry.value.text(); }},
             {"preprocess", [&](const Entry& entry) { description.preprocess = entry.value.text(); }},
             {"classes",
              [&](const Entry& entry) {
                const auto range = record::NumberRange::whole(1, kMostClasses);
                description.classes = static_cast<int>(entry.value.integer(range));
                classes_at = entry.at_key;
              }},
             {"parameters",
              [&](const Entry& entry) {
                for (const Entry& one : entry.value.entries()) {
                  want_free_name(one);
                  description.parameters.push_back(parameter_at(one));
                }
              }},
             {"input", [&](const Entry& entry) { input = entry.value; }},
             {"layers", [&](const Entry& entry) { layers = entry.value; }}});
  if (!input) file.complain("a network has an `input`");
  read_input(*input, description);
  const bool is_sequence = description.kind == InputKind::sequence;
  if (is_sequence && classes_at) classes_at->complain("a network on sequences has those of its vocabulary");
  if (!is_sequence && !classes_at) file.complain("a network has `classes`: how many");
  if (is_sequence) add_sizes_of_sequences(description);
  if (!layers) file.complain("a network has `layers`");
  description.layers = read_layers(*layers);
  if (description.layers.empty()) layers->complain("a network has one layer at least");
  return description;
}

}  // namespace trainyard::networks::layers
