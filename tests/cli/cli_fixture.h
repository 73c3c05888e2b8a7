#pragma once

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "cli/run_command.h"

namespace trainyard::cli_test {

// Every test has a folder to run in, and a home and a cache of its own.
class CliTest : public testing::Test {
 protected:
  CliTest() {
    std::filesystem::create_directories(home());
    std::filesystem::create_directories(work());
  }

  std::filesystem::path home() const { return folder_.path() / "home"; }
  std::filesystem::path work() const { return folder_.path() / "work"; }
  std::filesystem::path cache() const { return folder_.path() / "cache" / "trainyard"; }

  CommandOptions options() const {
    return {work(), {{"HOME", home()}, {"XDG_CACHE_HOME", folder_.path() / "cache"}}};
  }

  CommandResult run(const std::string& arguments) const {
    return cli_test::run(trainyard(arguments), options());
  }

  // One line on standard error that holds `part`, nothing on standard output.
  void expect_failure(const std::string& arguments, int exit_code, const std::string& part) const {
    expect_failed(run(arguments), exit_code, part);
  }
  static void expect_failed(const CommandResult& result, int exit_code, const std::string& part) {
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_TRUE(result.err.starts_with("trainyard: ")) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }

 private:
  TestFolder folder_;
};

}  // namespace trainyard::cli_test
