#include "data/view/staging.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "base/file.h"
#include "base/test_folder.h"
#include "data/get/gzip_file.h"
#include "data/source/dataset.h"
#include "data/source/mnist.h"
#include "data/view/verified_copy.h"

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
  DatasetFiles files() const { return list_files({.name = "mnist", .folder = source_.path()}); }

  void expect_refused(ErrorKind kind, const std::string& part) const {
    expect_error(kind, part, [&] { StagedFiles("mnist", files(), options()); });
    EXPECT_TRUE(fs::is_empty(target_.path()));
  }

  TestFolder source_, target_;
  std::vector<std::string> names_;
};

TEST_F(Staging, CopiesVerifiesAndRemoves) {
  {
    const StagedFiles staged("mnist", files(), options());
    EXPECT_EQ(staged.report().folder.parent_path(), target_.path());
    std::int64_t bytes = 0;
    for (const std::string& name : names_) {
      EXPECT_EQ(read_file(staged.root() / name), read_file(source_.path() / name));
      bytes += static_cast<std::int64_t>(fs::file_size(source_.path() / name));
    }
    EXPECT_EQ(staged.report().bytes, bytes);
    EXPECT_EQ(staged.report().files, find_manifest(source_.path(), "mnist")->files);
    EXPECT_GT(staged.report().seconds, staged.report().verify_seconds);
    EXPECT_GT(staged.report().verify_seconds, 0);
    EXPECT_GE(staged.report().source_cached_fraction, 0);
    EXPECT_LE(staged.report().source_cached_fraction, 1);
    EXPECT_TRUE(fs::exists(staged.report().folder / "manifest.json"));
    EXPECT_EQ(load_mnist(staged.root(), ReadMode::stream).size(Split::train), 60);
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
  EXPECT_NO_THROW(StagedFiles("mnist", files(), options()));  // nothing says that it is damaged
  fs::remove(source_.path() / names_[3]);
  expect_refused(ErrorKind::config, "no 't10k-labels-idx1-ubyte'");
}

TEST_F(Staging, StopsForACopyThatIsNotAsItsSource) {
  const StagedFiles staged("mnist", files(), options());
  const std::vector<CachedFile>& copies = staged.report().files;
  const fs::path labels = staged.root() / names_[1];
  std::vector<std::byte> content = read_file(labels);
  content.back() ^= std::byte{1};
  std::ofstream(labels, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()), std::ssize(content));
  expect_error(ErrorKind::io, names_[1] + "' has SHA-256",
               [&] { verify_copies(staged.root(), copies, [](std::int64_t) {}); });
  fs::resize_file(labels, 5);
  expect_error(ErrorKind::io, "has 5 bytes after the copy",
               [&] { verify_copies(staged.root(), copies, [](std::int64_t) {}); });
  fs::remove(labels);
  expect_error(ErrorKind::io, names_[1] + "' was copied but cannot be read",
               [&] { verify_copies(staged.root(), copies, [](std::int64_t) {}); });
}

TEST_F(Staging, WantsAFolderAndForMemoryATmpfs) {
  StagingOptions wanted = options();
  wanted.folder = target_.path() / "none";
  expect_error(ErrorKind::config, "none' is not a folder", [&] { StagedFiles("mnist", files(), wanted); });
  wanted = {.target = StagingTarget::memory, .folder = "/proc"};
  expect_error(ErrorKind::config, "'/proc' is not in memory", [&] { StagedFiles("mnist", files(), wanted); });
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  const StagedFiles staged("mnist", files(), {.target = StagingTarget::memory});
  EXPECT_EQ(staged.report().filesystem, "tmpfs");
  EXPECT_EQ(staged.report().folder.parent_path(), "/dev/shm");
}

TEST_F(Staging, RemovesWhatAKilledRunLeftAndNothingElse) {
  const pid_t child = ::fork();
  if (child == 0) {
    const StagedFiles staged("mnist", files(), options());
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(std::distance(fs::directory_iterator(target_.path()), {}), 1);
  fs::create_directory(target_.path() / "mine");
  std::optional<StagedFiles> staged(std::in_place, "mnist", files(), options());
  EXPECT_EQ(std::distance(fs::directory_iterator(target_.path()), {}), 2);
  staged.reset();
  EXPECT_EQ(fs::directory_iterator(target_.path())->path(), target_.path() / "mine");
}

// A folder of classes, in which a run's own folders and names are made as they are there.
class StagedTree : public testing::Test {
 protected:
  StagedTree() {
    for (const char* name : {"rose", "a class"}) fs::create_directories(source_.path() / "images" / name);
    source_.write("images/rose/1.png", "one");
    source_.write("images/rose/2.PNG", "");
    source_.write("images/rose/notes.txt", "not copied");
    source_.write("images/a class/n\nl.jpg", std::string(3'000'000, 'x'));
    for (int i = 0; i < 50; ++i) source_.write(fmt::format("images/rose/many{}.jpg", i), std::to_string(i));
  }

  DatasetFiles files() const { return list_files({.name = name()}); }
  std::string name() const { return "folder:" + (source_.path() / "images").string(); }

  // Calls `change` when the files are listed and before the first is copied.
  void expect_stopped(const std::function<void()>& change, const std::string& part) const {
    struct Hook final : ProgressListener {
      void begin(const std::string&, std::int64_t) override { change(); }
      bool due() const override { return false; }
      void update(std::int64_t, const std::string&) override {}
      void end() override {}
      void note(const std::string&) override {}
      void warn(const std::string&) override {}
      std::function<void()> change;
    } hook;
    hook.change = change;
    expect_error(ErrorKind::io, part,
                 [&] { StagedFiles(name(), files(), {.folder = target_.path(), .progress = &hook}); });
    EXPECT_TRUE(fs::is_empty(target_.path()));
  }

  TestFolder source_, target_;
};

TEST_F(StagedTree, IsCopiedAsItIs) {
  const StagedFiles staged(name(), files(), {.folder = target_.path()});
  EXPECT_EQ(staged.root().filename(), "images");
  EXPECT_EQ(staged.report().files.size(), 53u);
  std::string lines;
  std::map<std::string, std::string> sums;
  for (const CachedFile& file : staged.report().files) {
    EXPECT_EQ(read_file(staged.root() / file.name), read_file(source_.path() / "images" / file.name));
    EXPECT_EQ(sha256_of_file(source_.path() / "images" / file.name), file.sha256);
    sums[file.name] = file.sha256;
  }
  for (const auto& [file, sum] : sums) lines += sum + "  " + file + "\n";
  EXPECT_EQ(sums.begin()->first, "a class/n\nl.jpg");
  EXPECT_EQ(staged.report().sum_of_sums(), sha256_of_file(source_.write("lines", lines)));
  EXPECT_FALSE(fs::exists(staged.root() / "rose" / "notes.txt"));
  EXPECT_EQ(files().note, "1 files that are neither JPEG nor PNG are left out");
}

TEST_F(StagedTree, AFileThatChangesOrVanishesStopsIt) {
  const fs::path file = source_.path() / "images" / "rose" / "many7.jpg";
  expect_stopped([&] { std::ofstream(file) << "longer"; }, "rose/many7.jpg' changed while");
  expect_stopped(
      [&] {
        source_.write("new", "shorte");
        fs::rename(source_.path() / "new", file);  // of the same size
      },
      "rose/many7.jpg' changed while");
  expect_stopped([&] { fs::last_write_time(file, fs::file_time_type::clock::now() + std::chrono::hours(1)); },
                 "rose/many7.jpg' changed while");
  expect_stopped([&] { fs::remove(file); }, "rose/many7.jpg' can no longer be read: No such file");
}

TEST_F(StagedTree, ASingleFileKeepsItsName) {
  source_.write("manifest.json", "a text of the manifest's name");
  const StagedFiles staged(
      "text:t",
      {.root = source_.path() / "manifest.json", .files = {source_.path() / "manifest.json"}, .note = ""},
      {.folder = target_.path()});
  EXPECT_EQ(staged.root().filename(), "manifest.json");
  EXPECT_EQ(read_file(staged.root()), read_file(source_.path() / "manifest.json"));
  EXPECT_EQ(staged.report().files.at(0).name, "manifest.json");
}

TEST_F(Staging, ASignalLeavesTimeToRemoveTheFolder) {
  {
    const StagedFiles staged("mnist", files(), options());
    ::raise(SIGTERM);
    EXPECT_TRUE(fs::exists(staged.root() / names_[0]));
    expect_error(ErrorKind::interrupted, "interrupted", process::StopRequest::check);
  }
  EXPECT_TRUE(fs::is_empty(target_.path()));
}

}  // namespace

}  // namespace trainyard::data
