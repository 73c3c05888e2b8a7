// Tables in docs/ are made from the table of settings, the list of figures and the table of layers; so is the
// JSON schema of files of layers. With TRAINYARD_WRITE_TABLES set, the test writes them anew.

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "networks/layers/described_network.h"
#include "networks/layers/layer.h"
#include "record/figures.h"
#include "run/run_options.h"
#include "study/spec/known_settings.h"

namespace trainyard {
namespace {

std::string in_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string figures_table(const std::string& group) {
  constexpr const char* kTypes[] = {"integer", "number", "string", "array", "object"};
  constexpr const char* kBetter[] = {"", "more", "less"};
  std::string table = "| key | type | unit | better | meaning |\n|---|---|---|---|---|\n";
  for (const record::Figure& figure : record::kFigures)
    if (figure.group == group)
      table +=
          fmt::format("| `{}` | {} | {} | {} | {} |\n", figure.name,
                      kTypes[static_cast<std::size_t>(figure.type)], record::to_text(figure.unit),
                      kBetter[static_cast<std::size_t>(figure.better)], in_cell(std::string(figure.meaning)));
  return table;
}

std::string values_of(const record::SettingInfo& setting) {
  if (setting.range) return setting.range->brief();
  using Form = record::SettingInfo::Form;
  if (setting.form == Form::truth) return "`true`, `false`";
  if (setting.form == Form::count) return "count";
  if (setting.form == Form::counts) return "counts";
  if (setting.form == Form::number) return "number";
  if (setting.form == Form::output) return "path";
  const std::vector<std::string> choices = run::choices_of(setting);
  return choices.empty() ? "word" : fmt::format("`{}`", fmt::join(choices, "` `"));
}

// The settings that studies of `run` take; of a program those that ask a cluster for something.
std::string settings_table(const std::string& run) {
  std::string table = "| setting | values | default | meaning |\n|---|---|---|---|\n";
  for (const record::SettingInfo* setting : study::known_settings(run)) {
    if (setting->is_resource() != (run == "program")) continue;
    table += fmt::format("| `{}`{} | {} | {} | {} |\n", setting->name, setting->compared ? "" : " *",
                         values_of(*setting),
                         setting->fallback.empty() ? "" : fmt::format("`{}`", setting->fallback),
                         in_cell(run::about(*setting)));
  }
  return table;
}

std::string default_of(const networks::layers::OptionRow& option) {
  if (option.fallback == networks::layers::OptionRow::kRequired) return "must be given";
  return *option.fallback == '\0' ? "" : fmt::format("`{}`", option.fallback);
}

std::string layers_table() {
  std::string table = "| layer | option | default | meaning |\n|---|---|---|---|\n";
  for (const networks::layers::LayerRow& row : networks::layers::layer_rows()) {
    table += fmt::format("| `{}` | | | {} |\n", row.name, in_cell(row.about));
    for (const networks::layers::OptionRow& option : row.options)
      table += fmt::format("| | `{}` | {} | {}{} |\n", option.name, default_of(option), in_cell(option.about),
                           option.choices.empty() || option.choices.front() == "none"
                               ? ""
                               : fmt::format(": `{}`", fmt::join(option.choices, "` `")));
  }
  return table;
}

std::string table_of(const std::string& kind, const std::string& name) {
  if (kind == "figures") return figures_table(name);
  return kind == "layers" ? layers_table() : settings_table(name);
}

// Returns the text with every block between "<!-- table: NAME ... -->" and "<!-- end of table -->" made anew.
std::string with_tables(const std::string& text) {
  const std::string begin = "<!-- table: ", end = "<!-- end of table -->";
  std::string made;
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(begin, at)) != std::string::npos;) {
    const std::size_t line_end = text.find('\n', found) + 1, stop = text.find(end, found);
    EXPECT_NE(stop, std::string::npos) << "a table without an end";
    if (stop == std::string::npos) break;
    std::istringstream words(text.substr(found + begin.size(), line_end - found - begin.size()));
    std::string kind, name;
    words >> kind >> name;
    made += text.substr(at, line_end - at) + table_of(kind, name);
    at = stop;
  }
  return made + text.substr(at);
}

class ReferenceTables : public testing::TestWithParam<const char*> {};

TEST_P(ReferenceTables, AreThoseOfTheSources) {
  const std::string file = std::string("docs/formats/") + GetParam();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string made = with_tables(text.str());
  ASSERT_NE(made.find("<!-- table: "), std::string::npos);
  if (std::getenv("TRAINYARD_WRITE_TABLES") != nullptr) std::ofstream(file) << made;
  EXPECT_EQ(text.str(), made) << "TRAINYARD_WRITE_TABLES=1 golden_tests --gtest_filter='*ReferenceTables*'";
}

INSTANTIATE_TEST_SUITE_P(
    Docs, ReferenceTables, testing::Values("network-yaml.md", "run-record.md", "study.md"),
    [](const auto& file) {
      const std::string name = file.param;
      return std::string(name[0] == 'n' ? "Networks" : name[0] == 'r' ? "Records" : "Studies");
    });

TEST(ReferenceTablesOfLayers, SchemaIsThatOfTheSources) {
  const char* const file = "docs/formats/network.schema.json";
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string made = json_text(networks::layers::schema(), 2) + "\n";
  if (std::getenv("TRAINYARD_WRITE_TABLES") != nullptr) std::ofstream(file) << made;
  EXPECT_EQ(text.str(), made) << "TRAINYARD_WRITE_TABLES=1 golden_tests --gtest_filter='*ReferenceTables*'";
}

TEST(FigureList, EveryFigureIsInATable) {
  std::ostringstream text;
  text << std::ifstream("docs/formats/run-record.md").rdbuf();
  for (const record::Figure& figure : record::kFigures)
    EXPECT_NE(text.str().find(fmt::format("<!-- table: figures {} -->", figure.group)), std::string::npos)
        << figure.name;
}

// A name without its unit at the end has it as a word, or counts what everybody counts so.
TEST(FigureList, NamesAndUnitsAgree) {
  const std::set<std::string_view> elsewhere{"batch",
                                             "batch_per_device",
                                             "global_batch",
                                             "images_consumed",
                                             "images_made",
                                             "images_skipped",
                                             "bytes_read",
                                             "cores_used",
                                             "cores_allowed",
                                             "cores_allotted",
                                             "test_accuracy",
                                             "vote_majority",
                                             "vote_mean_probability",
                                             "published_intensity",
                                             "best_member_accuracy",
                                             "peak_fraction_mean",
                                             "peak_fraction_deviation"};
  for (const record::Figure& figure : record::kFigures) {
    const bool named = record::unit_in_name(figure.name) == figure.unit;
    EXPECT_NE(named, elsewhere.contains(figure.name))
        << figure.name << " in " << record::to_text(figure.unit);
  }
}

}  // namespace
}  // namespace trainyard
