#include <gtest/gtest.h>

// One process for all tests of a GPU, whose libraries take long to start. CTest takes 77 for skipped: there
// is no GPU.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  const bool nothing_ran = all.test_to_run_count() > 0 && all.skipped_test_count() == all.test_to_run_count();
  return failed == 0 && nothing_ran ? 77 : failed;
}
