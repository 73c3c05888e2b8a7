#include "report/libraries.h"

#include <gtest/gtest.h>

#include "data/get/test_npm.h"
#include "data/get/test_tarball.h"

namespace trainyard::report {
namespace {

std::ptrdiff_t entries_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST(ReportLibraries, SayWhatToDoWithoutNpm) {
  const TestFolder cache;
  ::setenv("PATH", cache.path().c_str(), 1);
  expect_error(ErrorKind::io, "report: no program 'npm' in PATH to fetch vega@",
               [&] { get_libraries({cache.path()}); });
  expect_error(ErrorKind::io, "trainyard report get_libraries", [&] { get_libraries({cache.path()}); });
  EXPECT_EQ(entries_in(cache.path() / "libraries"), 0);
}

TEST(ReportLibraries, SayWhatToDoWithoutNetwork) {
  const TestFolder cache, bin;
  data::put_npm(bin,
                "echo 'npm error code ENOTFOUND' >&2; echo 'npm error network request failed' >&2; exit 1");
  expect_error(ErrorKind::io, "(ENOTFOUND: network request failed): check network",
               [&] { get_libraries({cache.path()}); });
}

TEST(ReportLibraries, RefuseAPackageThatIsNotThePinnedOne) {
  const TestFolder cache, bin;
  const auto tarball = data::write_tarball(bin.path() / "a.tgz", {{"package/build/vega.min.js", "evil()"}});
  data::put_npm(bin, "cp '" + tarball.string() + "' \"$4\"");
  expect_error(ErrorKind::io, "expected: try again", [&] { get_libraries({cache.path()}); });
  EXPECT_EQ(entries_in(cache.path() / "libraries"), 0);
}

TEST(ReportLibraries, AFileInTheCacheThatWasChangedIsFetchedAgain) {
  const TestFolder cache, bin;
  std::filesystem::create_directories(cache.path() / "libraries/vega-6.4.0");
  cache.write("libraries/vega-6.4.0/vega.min.js", "evil()");
  cache.write("libraries/vega-6.4.0/LICENSE", "none");
  data::put_npm(bin, "exit 7");
  expect_error(ErrorKind::io, "could not fetch vega@6.4.0", [&] { get_libraries({cache.path()}); });
}

}  // namespace
}  // namespace trainyard::report
