// Tests the messages of `trainyard report` for input that it cannot use; tests/browser tests the reports
// themselves.

#include "cli/cli_fixture.h"
#include "store/store.h"

namespace trainyard::cli_test {
namespace {

class ReportMistakeTest : public CliTest {};

TEST_F(ReportMistakeTest, AStudyIsRequired) {
  expect_failure("report", 1, "a study's folder is required");
  expect_failure("report absent", 1, "'absent' is not a study's folder");
  std::filesystem::create_directory(work() / "empty");
  expect_failure("report empty", 1, "does not exist");
}

TEST_F(ReportMistakeTest, AStudyWithoutPlanAndRunsHasNothingToReport) {
  std::filesystem::create_directory(work() / "new");
  { const store::Store store(work() / "new" / store::Store::file_name(), store::Store::Access::write); }
  expect_failure("report new", 1, "neither a plan nor a run");
}

TEST_F(ReportMistakeTest, ADamagedStoreIsNamed) {
  std::filesystem::create_directory(work() / "bad");
  std::ofstream(work() / "bad" / store::Store::file_name()) << std::string(5000, 'x');
  expect_failure("report bad", 1, store::Store::file_name());
}

TEST_F(ReportMistakeTest, FormatsAreSvgAndPng) {
  expect_failure("report s --charts d --format gif", 1, "--format");
}

}  // namespace
}  // namespace trainyard::cli_test
