// Settings of studies: words are those of the folders that own them, parameters those of generated networks.

#include <gtest/gtest.h>

#include "base/error.h"
#include "networks/zoo/zoo.h"
#include "run/run_options.h"
#include "study/spec/known_settings.h"
#include "study/spec/spec.h"

namespace trainyard::study {
namespace {

std::string complaint(const std::string& text) {
  try {
    parse_spec("study: a\n" + text, "s.yaml", run::choices_of);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(StudySettings, EveryParameterOfANetworkIsASetting) {
  for (const networks::NetworkInfo& network : networks::all_networks()) {
    if (network.generator == nullptr) continue;
    for (const networks::generator::Parameter& parameter : network.generator->parameters) {
      SCOPED_TRACE(network.name + " " + parameter.name);
      const record::SettingInfo* setting = find_known_setting(parameter.name, "bench");
      ASSERT_NE(setting, nullptr);
      EXPECT_EQ(record::find_setting(parameter.name, "bench"), nullptr) << "the table has this name, too";
      std::string option = "--" + parameter.name;
      std::replace(option.begin(), option.end(), '_', '-');
      EXPECT_EQ(setting->option(), option);
      EXPECT_EQ(complaint_about(*setting, record::to_value(parameter.fallback)), "");
    }
  }
  EXPECT_EQ(find_known_setting("inputs", "train"), nullptr) << "the data have it";
}

TEST(StudySettings, AStudyTakesTheWordsOfTheCommand) {
  EXPECT_EQ(complaint("run: train\naxes: {strategy: [single, bsp, ssp:0, ssp:5, ssp:100]}\n"), "");
  EXPECT_NE(complaint("run: train\naxes: {strategy: [ssp]}\n").find("strategy 'ssp'"), std::string::npos);
  EXPECT_NE(complaint("run: bench\naxes: {strategy: [asp]}\n").find("strategy 'asp'"), std::string::npos);
  EXPECT_NE(complaint("run: ensemble\nsettings: {ensemble: a.yaml, design: shared}\n").find("shared-memory"),
            std::string::npos);
  EXPECT_NE(complaint("settings: {backend: fast}\n").find("one of auto, onednn, cuda, reference, null"),
            std::string::npos);
}

TEST(StudySettings, AFileThatWasRunOnceIsReadAgain) {
  EXPECT_NO_THROW(parse_spec("study: a\nsettings: {backend: of-another-version}\n", "s.yaml"));
}

}  // namespace
}  // namespace trainyard::study
