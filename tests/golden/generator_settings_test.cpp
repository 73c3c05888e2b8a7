// Studies know the parameters of generated networks by a table of their own; here the two are compared.

#include <gtest/gtest.h>

#include <set>

#include "networks/zoo/zoo.h"
#include "study/spec/known_settings.h"

namespace trainyard::study {
namespace {

using Form = KnownSetting::Form;

TEST(GeneratorSettings, EveryParameterIsASettingOfItsKind) {
  for (const networks::NetworkInfo& network : networks::all_networks()) {
    if (network.generator == nullptr) continue;
    for (const networks::generator::Parameter& parameter : network.generator->parameters) {
      SCOPED_TRACE(network.name + " " + parameter.name);
      const KnownSetting* setting = find_known_setting(parameter.name, "bench");
      ASSERT_NE(setting, nullptr);
      EXPECT_EQ(setting->option, "--" + parameter.name);
      EXPECT_EQ(setting->form, parameter.is_word()       ? Form::choice
                               : parameter.numbers > 1   ? Form::counts
                               : parameter.smallest == 0 ? Form::number
                                                         : Form::count);
      EXPECT_EQ(setting->choices, parameter.choices);
      EXPECT_EQ(complaint_about(*setting, record::to_value(parameter.fallback)), "");
    }
  }
}

TEST(GeneratorSettings, NumbersWithCommas) {
  const KnownSetting& blocks = *find_known_setting("blocks", "bench");
  for (const char* good : {"2", "3,4,6,3"}) EXPECT_EQ(complaint_about(blocks, record::to_value(good)), "");
  for (const char* bad : {"3,4,", ",3", "3,,4", "three", "1.5", "-1"})
    EXPECT_EQ(complaint_about(blocks, record::to_value(bad)),
              std::string("blocks '") + bad + "': whole numbers with commas expected");
}

}  // namespace
}  // namespace trainyard::study
