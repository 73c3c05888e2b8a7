#include "run/run_options.h"

#include <gtest/gtest.h>

#include "ps/mode/mode.h"

namespace trainyard::run {
namespace {

using record::SettingInfo;

TEST(Choices, EveryChoiceHasItsWords) {
  for (const SettingInfo& setting : record::all_settings()) {
    SCOPED_TRACE(setting.name);
    if (setting.form != SettingInfo::Form::choice) continue;
    const std::vector<std::string> words = choices_of(setting);
    EXPECT_GT(words.size(), 1u);
    if (!setting.fallback.empty()) {
      EXPECT_TRUE(record::is_choice(setting.fallback, words));
    }
    EXPECT_EQ(about(setting).find('{' + std::string("choices")), std::string::npos);
  }
}

TEST(Choices, AStrategyOfTrainIsAnyModeOfServers) {
  for (const char* good : {"single", "allreduce", "bsp:sum", "ssp:0", "ssp:5", "ssp:100"})
    EXPECT_NO_THROW(want_choice("train", "strategy", good)) << good;
  EXPECT_THROW(want_choice("train", "strategy", "ssp:"), Error);
  EXPECT_THROW(want_choice("bench", "strategy", "asp"), Error);
  for (const std::string& mode : ps::mode_words()) {
    const std::string word = mode.ends_with(":N") ? mode.substr(0, mode.size() - 1) + "7" : mode;
    EXPECT_EQ(ps::ModeName::parse(word).to_string(), word);
  }
}

}  // namespace
}  // namespace trainyard::run
