#include "run/choices.h"

#include <fmt/format.h>

#include "backend/backend.h"
#include "base/error.h"
#include "base/nearest_name.h"
#include "data/recipe/registry.h"
#include "data/source/dataset.h"
#include "ps/mode/mode.h"
#include "train/loop/feed.h"
#include "train/session/deployment.h"

namespace trainyard::run {
namespace {

using record::SettingInfo;
using Words = std::vector<std::string>;

Words with_server_modes(Words words) {
  for (const std::string& mode : ps::mode_words()) words.push_back(mode);
  return words;
}

Words recipes() {
  Words words;
  for (const data::RecipeInfo& recipe : data::all_recipes()) words.emplace_back(recipe.name);
  return words;
}

struct Owner {
  const char* setting;
  unsigned command;  // one of those that take the setting
  Words (*words)();
};

const Owner kOwners[] = {
    {"backend", SettingInfo::kBench, [] { return backend::backend_names(); }},
    {"data", SettingInfo::kTrain, [] { return Words(data::dataset_names()); }},
    {"feed", SettingInfo::kBench, [] { return train::feed_names(); }},
    {"feed", SettingInfo::kTrain, [] { return train::feed_names(); }},
    {"mode", SettingInfo::kTrain, [] { return with_server_modes({"allreduce"}); }},
    {"preprocess", SettingInfo::kTrain, recipes},
    {"strategy", SettingInfo::kBench, [] { return train::strategy_names(); }},
    {"strategy", SettingInfo::kTrain, [] { return with_server_modes(train::strategy_names()); }},
};

}  // namespace

std::vector<std::string> choices_of(const SettingInfo& setting) {
  if (!setting.choices.empty()) return setting.choices;
  for (const Owner& owner : kOwners)
    if (setting.name == owner.setting && (setting.commands & owner.command) != 0) return owner.words();
  return {};
}

std::string about(const SettingInfo& setting) {
  constexpr std::string_view kPlace = "{choices}";
  std::string text = setting.about;
  const std::size_t place = text.find(kPlace);
  if (place == std::string::npos) return text;
  const Words words = choices_of(setting);
  TRAINYARD_CHECK(words.size() > 1);
  return text.replace(place, kPlace.size(),
                      fmt::format("{} or {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back()));
}

void want_choice(const char* command, const char* setting, const std::string& given) {
  const Words words = choices_of(record::setting_of(setting, command));
  if (record::is_choice(given, words)) return;
  fail(ErrorKind::usage, "{} '{}'{}: one of {}", Setting{setting}, given, did_you_mean(given, words),
       fmt::join(words, ", "));
}

}  // namespace trainyard::run
