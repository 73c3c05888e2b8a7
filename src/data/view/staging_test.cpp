#include "data/view/staging.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "base/file.h"
#include "base/test_folder.h"
#include "data/source/dataset.h"
#include "data/source/mnist.h"

namespace trainyard::data {

namespace {

namespace fs = std::filesystem;

class Staging : public testing::Test {
 protected:
  Staging() {
    Dataset dataset = make_synthetic({{1, 28, 28}, 10, 60, 20, 3});
    dataset.name = "mnist";
    names_ = store_mnist(dataset, source_.path());
    write_manifest(dataset, "test", source_.path(), names_);
  }

  StagingOptions options() const { return {.folder = target_.path()}; }

  void expect_refused(ErrorKind kind, const std::string& part) const {
    expect_error(kind, part, [&] { StagedFiles("mnist", source_.path(), options()); });
    EXPECT_TRUE(fs::is_empty(target_.path()));
  }

  TestFolder source_, target_;
  std::vector<std::string> names_;
};

TEST_F(Staging, CopiesVerifiesAndRemoves) {
  {
    const StagedFiles staged("mnist", source_.path(), options());
    EXPECT_EQ(staged.folder().parent_path(), target_.path());
    std::int64_t bytes = 0;
    for (const std::string& name : names_) {
      EXPECT_EQ(read_file(staged.folder() / name), read_file(source_.path() / name));
      bytes += static_cast<std::int64_t>(fs::file_size(source_.path() / name));
    }
    EXPECT_EQ(staged.report().bytes, bytes);
    EXPECT_EQ(staged.report().files, find_manifest(source_.path(), "mnist")->files);
    EXPECT_GT(staged.report().seconds, staged.report().verify_seconds);
    EXPECT_GT(staged.report().verify_seconds, 0);
    EXPECT_GE(staged.report().source_cached_fraction, 0);
    EXPECT_LE(staged.report().source_cached_fraction, 1);
    EXPECT_TRUE(fs::exists(staged.folder() / "manifest.json"));
    EXPECT_EQ(load_mnist(staged.folder(), ReadMode::stream).size(Split::train), 60);
  }
  EXPECT_TRUE(fs::is_empty(target_.path()));
}

TEST_F(Staging, StopsForASourceThatIsNotAsItsManifestSays) {
  const fs::path images = source_.path() / names_[0];
  std::vector<std::byte> content = read_file(images);
  content[100] ^= std::byte{1};
  std::ofstream(images, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()), std::ssize(content));
  expect_refused(ErrorKind::config, names_[0] + "' is damaged: SHA-256");
  fs::remove(source_.path() / "manifest.json");
  EXPECT_NO_THROW(StagedFiles("mnist", source_.path(), options()));  // nothing says that it is damaged
  fs::remove(source_.path() / names_[3]);
  expect_refused(ErrorKind::config, "no 't10k-labels-idx1-ubyte'");
}

TEST_F(Staging, StopsForACopyThatIsNotAsItsSource) {
  const StagedFiles staged("mnist", source_.path(), options());
  const std::vector<CachedFile>& files = staged.report().files;
  const fs::path labels = staged.folder() / names_[1];
  std::vector<std::byte> content = read_file(labels);
  content.back() ^= std::byte{1};
  std::ofstream(labels, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()), std::ssize(content));
  expect_error(ErrorKind::io, names_[1] + "' has SHA-256", [&] { verify_staged(staged.folder(), files); });
  fs::resize_file(labels, 5);
  expect_error(ErrorKind::io, "has 5 bytes after the copy", [&] { verify_staged(staged.folder(), files); });
  fs::remove(labels);
  expect_error(ErrorKind::io, names_[1] + "' was copied but cannot be read",
               [&] { verify_staged(staged.folder(), files); });
}

TEST_F(Staging, WantsAFolderAndForMemoryATmpfs) {
  StagingOptions wanted = options();
  wanted.folder = target_.path() / "none";
  expect_error(ErrorKind::config, "none' is not a folder",
               [&] { StagedFiles("mnist", source_.path(), wanted); });
  wanted = {.target = StagingTarget::memory, .folder = "/proc"};
  expect_error(ErrorKind::config, "'/proc' is not in memory",
               [&] { StagedFiles("mnist", source_.path(), wanted); });
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  const StagedFiles staged("mnist", source_.path(), {.target = StagingTarget::memory});
  EXPECT_EQ(staged.report().filesystem, "tmpfs");
  EXPECT_EQ(staged.folder().parent_path(), "/dev/shm");
}

TEST_F(Staging, RemovesWhatAKilledRunLeftAndNothingElse) {
  const pid_t child = ::fork();
  if (child == 0) {
    const StagedFiles staged("mnist", source_.path(), options());
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(std::distance(fs::directory_iterator(target_.path()), {}), 1);
  fs::create_directory(target_.path() / "mine");
  std::optional<StagedFiles> staged(std::in_place, "mnist", source_.path(), options());
  EXPECT_EQ(std::distance(fs::directory_iterator(target_.path()), {}), 2);
  staged.reset();
  EXPECT_EQ(fs::directory_iterator(target_.path())->path(), target_.path() / "mine");
}

TEST_F(Staging, ASignalLeavesTimeToRemoveTheFolder) {
  {
    const StagedFiles staged("mnist", source_.path(), options());
    ::raise(SIGTERM);
    EXPECT_TRUE(fs::exists(staged.folder() / names_[0]));
    expect_error(ErrorKind::interrupted, "interrupted", process::StopRequest::check);
  }
  EXPECT_TRUE(fs::is_empty(target_.path()));
}

}  // namespace

}  // namespace trainyard::data
