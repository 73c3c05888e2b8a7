#include "study/spec/known_settings.h"

#include "base/error.h"
#include "base/text.h"
#include "networks/zoo/zoo.h"

namespace trainyard::study {

namespace {

constexpr std::size_t kMostValues = 10'000;

}  // namespace

std::optional<std::vector<record::Value>> expand_range(const std::string& text) {
  static const Pattern kForm(R"(\s*(-?\d{1,18})\s*\.\.\s*(-?\d{1,18})\s+([x+])\s*(\d{1,18})\s*)");
  if (text.find("..") == std::string::npos) return std::nullopt;
  const std::vector<std::string> parts = kForm.match(text);
  if (parts.empty()) fail(ErrorKind::config, "'{}': a range is written 16..16384 x2 or 1..9 +2", text);
  const std::int64_t first = std::stoll(parts[1]), last = std::stoll(parts[2]), by = std::stoll(parts[4]);
  const bool times = parts[3] == "x";
  if (times ? by < 2 || first < 1 : by < 1)
    fail(ErrorKind::config, "'{}': the range never ends; a factor is 2 or more and a step 1 or more", text);
  if (last < first) fail(ErrorKind::config, "'{}': ends before it begins", text);
  std::vector<record::Value> values;
  for (std::int64_t value = first;;) {
    values.emplace_back(value);
    if (values.size() > kMostValues) fail(ErrorKind::config, "'{}': more than {} values", text, kMostValues);
    // Division and subtraction instead of multiplication and addition cannot overflow.
    if (times ? value > last / by : value > last - by) return values;
    value = times ? value * by : value + by;
  }
}

namespace {

using record::SettingInfo;

// The families' own tables check the numbers.
SettingInfo setting_of(const networks::generator::Parameter& parameter) {
  using Form = SettingInfo::Form;
  const unsigned timed = SettingInfo::kBench | SettingInfo::kExplain;
  return {.name = parameter.name,
          .commands = parameter.is_of_data ? timed : timed | SettingInfo::kTrain,
          .form = parameter.is_word()                                ? Form::choice
                  : parameter.numbers > 1                            ? Form::counts
                  : parameter.smallest == 0 || parameter.is_fraction ? Form::number
                                                                     : Form::count,
          .choices = parameter.choices,
          .fallback = parameter.fallback,
          .about = parameter.about};
}

const std::vector<SettingInfo>& generator_settings() {
  static const std::vector<SettingInfo> kSettings = [] {
    std::vector<SettingInfo> settings;
    for (const networks::NetworkInfo& network : networks::all_networks())
      if (network.generator != nullptr)
        for (const networks::generator::Parameter& parameter : network.generator->parameters)
          if (std::none_of(settings.begin(), settings.end(),
                           [&](const SettingInfo& known) { return known.name == parameter.name; }))
            settings.push_back(setting_of(parameter));
    return settings;
  }();
  return kSettings;
}

}  // namespace

std::vector<const SettingInfo*> known_settings(const std::string& run) {
  std::vector<const SettingInfo*> known;
  for (const auto* table : {&record::all_settings(), &generator_settings()})
    for (const SettingInfo& setting : *table)
      if (setting.in_studies && takes(run, setting)) known.push_back(&setting);
  return known;
}

const SettingInfo* find_known_setting(const std::string& name, const std::string& run) {
  for (const auto* table : {&record::all_settings(), &generator_settings()})
    for (const SettingInfo& setting : *table)
      if (setting.name == name && setting.in_studies && takes(run, setting)) return &setting;
  return nullptr;
}

}  // namespace trainyard::study
