#include "record/settings.h"

#include <gtest/gtest.h>

namespace trainyard::record {
namespace {

TEST(Settings, RowsAreCompleteAndANameHasOneRowForACommand) {
  std::set<std::string> seen;
  for (const SettingInfo& setting : all_settings()) {
    SCOPED_TRACE(setting.name);
    EXPECT_FALSE(setting.about.empty());
    EXPECT_NE(setting.commands, 0u);
    EXPECT_EQ(setting.range.has_value(), setting.is_number());
    for (const unsigned command : {SettingInfo::kBench, SettingInfo::kTrain, SettingInfo::kExplain,
                                   SettingInfo::kEnsemble, SettingInfo::kResource})
      if ((setting.commands & command) != 0) {
        EXPECT_TRUE(seen.insert(std::to_string(command) + setting.name).second);
      }
    if (!setting.fallback.empty()) {
      EXPECT_EQ(complaint_about(setting, to_value(setting.fallback)), "");
    }
    EXPECT_EQ(is_compared(setting.name), setting.compared) << "rows of one name differ";
  }
  EXPECT_EQ(setting_of("decay_steps", "bench").option(), "--decay-steps");
  EXPECT_EQ(setting_of("ensemble", "ensemble").option(), "--file");
  EXPECT_EQ(find_setting("warmup", "train"), nullptr);
  EXPECT_EQ(find_setting("lr", "program"), nullptr);
  EXPECT_NE(find_setting("nodes", "program"), nullptr);
}

TEST(Settings, ACommandHasDefaultsOfItsOwn) {
  EXPECT_EQ(default_whole("steps", "bench"), 50);
  EXPECT_EQ(setting_of("steps", "train").fallback, "");
  EXPECT_EQ(default_text("network"), "deepmnist");
  EXPECT_EQ(default_number("decay_factor"), 0.1);
}

TEST(Settings, RowsSayWhatRecordsHoldAsAsked) {
  Settings asked;
  const auto add = [&](const char* name, const auto& field) {
    add_asked(setting_of(name, "train"), as_given(field), asked);
  };
  add("network", std::string("deepmnist"));  // always
  add("seed", std::uint64_t{1});
  add("out", std::filesystem::path("somewhere"));  // never
  add("mode", std::string("bsp"));
  add("lease", 3.0);  // their defaults
  add("lr", 0.0);
  add("no_fusion", false);
  add("from", std::filesystem::path());
  EXPECT_EQ(asked, (Settings{{"network", std::string("deepmnist")}, {"seed", std::int64_t{1}}}));
  add("lease", 4.0);
  add("lr", 0.25);
  add("no_fusion", true);
  EXPECT_EQ(asked.at("lease"), Value(std::int64_t{4})) << "as a study's file has it";
  EXPECT_EQ(asked.at("lr"), Value(0.25));
  EXPECT_EQ(asked.at("no_fusion"), Value(true));
}

TEST(Settings, WordsAreChecked) {
  const SettingInfo choice{.name = "strategy", .form = SettingInfo::Form::choice};
  const std::vector<std::string> words{"bsp", "bsp:sum", "ssp:N", "folder:PATH"};
  for (const char* good : {"bsp", "bsp:sum", "ssp:0", "ssp:17", "folder:a/b"})
    EXPECT_EQ(complaint_about(choice, Value(std::string(good)), words), "") << good;
  for (const char* bad : {"bsp:mean", "ssp", "ssp:", "ssp:-1", "ssp:x", "ssp:N", "folder:", "sssp:1"})
    EXPECT_NE(complaint_about(choice, Value(std::string(bad)), words), "") << bad;
  EXPECT_EQ(complaint_about(choice, Value(std::string("bps")), words),
            "strategy 'bps' (did you mean 'bsp'?): one of bsp, bsp:sum, ssp:N, folder:PATH expected");
  EXPECT_EQ(complaint_about(choice, Value(std::string("anything"))), "") << "its owner was not asked";
}

TEST(Settings, OtherFormsAreChecked) {
  const auto complaint = [](SettingInfo::Form form, const char* text) {
    return complaint_about({.name = "x", .form = form}, to_value(text));
  };
  using Form = SettingInfo::Form;
  for (const char* good : {"2", "3,4,6,3"}) EXPECT_EQ(complaint(Form::counts, good), "");
  for (const char* bad : {"3,4,", ",3", "3,,4", "three", "1.5", "-1"})
    EXPECT_EQ(complaint(Form::counts, bad),
              std::string("x '") + bad + "': whole numbers with commas expected");
  EXPECT_EQ(complaint(Form::truth, "true"), "");
  EXPECT_EQ(complaint(Form::truth, "1"), "x '1': true or false expected");
  EXPECT_EQ(complaint(Form::word, ""), "x: a word expected");
  EXPECT_EQ(complaint(Form::count, "0"), "x '0': a whole number of at least 1 expected");
}

}  // namespace
}  // namespace trainyard::record
