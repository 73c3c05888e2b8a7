#pragma once

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "browser/chromium.h"
#include "cli/run_command.h"
#include "report/test_study.h"
#include "store/store.h"

namespace trainyard::browser_test {

// A study in a folder of its own, and reports of it. The script libraries lie in the user's cache: they are
// fetched by the first test that needs them.
class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"chromium", "node"})
      if (find_program(program).empty()) GTEST_SKIP() << "no program '" << program << "' in PATH";
    const cli_test::CommandResult got = trainyard("report --get-libraries");
    if (got.exit_code != 0) GTEST_SKIP() << got.err;
  }

  cli_test::CommandResult trainyard(const std::string& arguments,
                                    const std::map<std::string, std::string>& environment = {}) const {
    return cli_test::run(cli_test::trainyard(arguments), {folder_.path(), environment});
  }

  void write(const report::TestStudy& study) const {
    std::filesystem::create_directory(folder_.path() / "study");
    store::Store store(folder_.path() / "study" / store::Store::file_name(), store::Store::Access::write);
    store.plan(study.name, study.planned);
    for (const record::RunRecord& run : study.runs) store.add(run);
  }

  OpenedPage open() const { return open_page(path() / "study" / "report.html", path() / "chromium"); }

  const std::filesystem::path& path() const { return folder_.path(); }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_.path() / name, std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  TestFolder folder_;
};

}  // namespace trainyard::browser_test
