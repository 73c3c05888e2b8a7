#include "base/file.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <future>

#include "base/test_folder.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

class OutputFile : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }

  static void write(const fs::path& path, const std::string& text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
  }
  static std::string content(const fs::path& path) {
    const std::vector<std::byte> bytes = read_file(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }

  TestFolder folder_;
};

TEST_F(OutputFile, TheTargetOfALinkIsReplacedAndTheLinkStays) {
  fs::create_directory(path("there"));
  folder_.write("there/real", "old");
  ::chmod(path("there/real").c_str(), 0640);
  fs::create_symlink("there/real", path("link"));
  fs::create_symlink("link", path("chain"));
  write(path("chain"), "new");
  EXPECT_TRUE(fs::is_symlink(path("chain")) && fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("there/real")), "new");
  EXPECT_EQ(fs::status(path("there/real")).permissions(), fs::perms(0640)) << "of the file that was there";

  fs::create_symlink(path("there/made"), path("dangling"));
  write(path("dangling"), "made");
  EXPECT_TRUE(fs::is_symlink(path("dangling")));
  EXPECT_EQ(content(path("there/made")), "made");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("there")), {}), 2) << "nothing is left aside";

  fs::create_symlink("circle", path("circle"));
  expect_error(ErrorKind::io, "symbolic links", [&] { AtomicFile file(path("circle")); });
}

TEST_F(OutputFile, ADeviceIsWrittenThrough) {
  fs::create_symlink("/dev/null", path("null"));
  write(path("null"), "nowhere");
  EXPECT_TRUE(fs::is_symlink(path("null")));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  fs::create_symlink("/dev/full", path("full"));
  expect_error(ErrorKind::io, "No space left on device", [&] { write(path("full"), "no room"); });
  EXPECT_EQ(entries(), 2u);
  check_output_file(path("null"));
}

TEST_F(OutputFile, ADeviceOfItsOwnStaysOne) {
  if (::mknod(path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0)
    GTEST_SKIP() << "making a device takes privileges";
  try {
    write(path("null"), "nowhere");
  } catch (const Error&) {
    GTEST_SKIP() << "devices of this file system cannot be opened";
  }
  EXPECT_TRUE(fs::is_character_file(path("null")));
}

TEST_F(OutputFile, AFifoIsWrittenThrough) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  check_output_file(path("fifo"));  // does not wait for a reader
  auto reader = std::async(std::launch::async, [&] {
    std::ifstream stream(path("fifo"));
    return std::string(std::istreambuf_iterator<char>(stream), {});
  });
  write(path("fifo"), "through");
  EXPECT_EQ(reader.get(), "through");
  EXPECT_TRUE(fs::is_fifo(path("fifo")));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFile, AReaderThatLeftIsAnErrorAndNoSignal) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  Descriptor reader(::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK));
  AtomicFile file(path("fifo"));
  reader.close();
  expect_error(ErrorKind::io, "Broken pipe", [&] { file.write("nobody hears"); });
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_FALSE(sigismember(&pending, SIGPIPE));
}

TEST_F(OutputFile, ADescriptorIsWrittenWhereItStands) {
  const Descriptor open(::open(path("log").c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(::write(open.number(), "before ", 7), 7);
  const fs::path name = "/dev/fd/" + std::to_string(open.number());
  check_output_file(name);
  write(name, "through ");
  ASSERT_EQ(::write(open.number(), "behind", 6), 6);
  EXPECT_EQ(content(path("log")), "before through behind") << "the open file is not replaced by another";

  const Descriptor reading(::open(path("log").c_str(), O_RDONLY));
  expect_error(ErrorKind::config, "open for writing",
               [&] { check_output_file("/dev/fd/" + std::to_string(reading.number())); });
  expect_error(ErrorKind::config, "open for writing", [&] { check_output_file("/proc/self/fd/987"); });
}

TEST_F(OutputFile, AMountPointIsWrittenInPlace) {
  folder_.write("there", "longer than what comes");
  folder_.write("mounted", "");
  if (::mount(path("there").c_str(), path("mounted").c_str(), nullptr, MS_BIND, nullptr) != 0)
    GTEST_SKIP() << "mounting takes privileges";
  check_output_file(path("mounted"));
  EXPECT_NO_THROW(write(path("mounted"), "short"));
  ::umount2(path("mounted").c_str(), MNT_DETACH);
  EXPECT_EQ(content(path("there")), "short");
}

TEST_F(OutputFile, WhatCannotBeWrittenIsSaidBeforeTheWork) {
  expect_error(ErrorKind::config, "there is no folder '" + path("none").string() + "'",
               [&] { check_output_file(path("none/x")); });
  expect_error(ErrorKind::config, "it is a folder", [&] { check_output_file(folder_.path()); });
  folder_.write("file", "kept");
  expect_error(ErrorKind::config, "Not a directory", [&] { check_output_file(path("file/x")); });
  expect_error(ErrorKind::config, "cannot write '/proc/x'", [] { check_output_file("/proc/x"); });
  check_output_file(path("file"));
  check_output_file(path("new"));
  EXPECT_EQ(content(path("file")), "kept");
  EXPECT_EQ(entries(), 1u) << "looking leaves nothing";
}

// Root may write everything, so this object drops root's privileges while it lives.
class WithoutPrivileges {
 public:
  WithoutPrivileges() { EXPECT_EQ(::seteuid(was_ == 0 ? kNobody : was_), 0); }
  ~WithoutPrivileges() { EXPECT_EQ(::seteuid(was_), 0); }

 private:
  static constexpr uid_t kNobody = 65534;
  const uid_t was_ = ::geteuid();
};

TEST_F(OutputFile, WhatMustNotBeWrittenIsNotReplaced) {
  folder_.write("kept", "old");
  ::chmod(path("kept").c_str(), 0444);
  ::chmod(folder_.path().c_str(), 0777);
  {
    const WithoutPrivileges nobody;
    expect_error(ErrorKind::config, "Permission denied", [&] { check_output_file(path("kept")); });
    expect_error(ErrorKind::io, "Permission denied", [&] { write(path("kept"), "new"); });
    check_output_file(path("new"));
  }
  ::chmod(folder_.path().c_str(), 0555);
  {
    const WithoutPrivileges nobody;
    expect_error(ErrorKind::config, "Permission denied", [&] { check_output_file(path("new")); });
    expect_error(ErrorKind::config, "Permission denied", [&] { check_output_folder(path("new")); });
  }
  ::chmod(folder_.path().c_str(), 0755);
  EXPECT_EQ(content(path("kept")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFile, AReadOnlyFileSystemIsToldOf) {
  fs::create_directory(path("disk"));
  if (::mount("tmpfs", path("disk").c_str(), "tmpfs", MS_RDONLY, nullptr) != 0)
    GTEST_SKIP() << "mounting takes privileges";
  expect_error(ErrorKind::config, "Read-only file system", [&] { check_output_file(path("disk/x")); });
  expect_error(ErrorKind::config, "Read-only file system", [&] { check_output_folder(path("disk/x")); });
  ::umount2(path("disk").c_str(), MNT_DETACH);
}

TEST_F(OutputFile, AFolderToBeMadeIsLookedAtInTheOneThatIsThere) {
  check_output_folder(path("a/b/c"));
  check_output_folder(folder_.path());
  EXPECT_EQ(entries(), 0u) << "looking makes nothing";
  folder_.write("file", "");
  expect_error(ErrorKind::config, "is no folder", [&] { check_output_folder(path("file")); });
  expect_error(ErrorKind::config, "is no folder", [&] { check_output_folder(path("file/a/b")); });
  expect_error(ErrorKind::config, "cannot write into folder '/proc/x'",
               [] { check_output_folder("/proc/x"); });
}

}  // namespace
}  // namespace trainyard
