#include "process/child.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "process/bare_process.h"
#include "process/family.h"

namespace trainyard::process {
namespace {

// True once the process has ended, within some seconds.
bool ends(pid_t process) {
  for (int look = 0; look < 500; ++look) {
    if (::kill(process, 0) != 0) return true;
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string number, name, state;
    if (file >> number >> name >> state && state == "Z") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

int wait_for(const Child& child) {
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  return exit_code_of(status);
}

pid_t number_in(const std::filesystem::path& file) {
  pid_t number = 0;
  for (int look = 0; look < 500 && number == 0; ++look) {
    std::ifstream(file) >> number;
    if (number == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return number;
}

// Returns the memory of this process's guard, which is in the session of a process that was started after it;
// 0 means that there is no guard.
std::int64_t guard_memory(pid_t watched) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string number, name, state;
    pid_t above = 0, group = 0, session = 0;
    if (!(file >> number >> name >> state >> above >> group >> session)) continue;
    if (name == "(trainyard-guard)" && session > watched && session < watched + 20)
      return memory_of({std::stoi(number)}, 1 << 30);
  }
  return 0;
}

TEST(Child, GetsWhatItWasGiven) {
  const TestFolder folder;
  std::ofstream(folder.path() / "input") << "hello\n";
  const int input = ::open((folder.path() / "input").c_str(), O_RDONLY | O_CLOEXEC),
            output = ::open((folder.path() / "output").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const Child child =
      start({.command = {"sh", "-c", "read word; echo $word $MORE $(pwd); echo bad >&2; exit 7"},
             .environment = {{"MORE", "of it"}},
             .folder = folder.path(),
             .input = input,
             .output = output,
             .error = output});
  ASSERT_EQ(child.start_errno, 0);
  EXPECT_EQ(wait_for(child), 7);
  ::close(input);
  ::close(output);
  std::ifstream file(folder.path() / "output");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, fmt::format("hello of it {}\nbad\n", folder.path().string()));
}

TEST(Child, SaysWhyItCannotBeStarted) {
  EXPECT_EQ(start({.command = {"no-such-program"}}).start_errno, ENOENT);
  EXPECT_EQ(start({.command = {"/no/such/program"}}).start_errno, ENOENT);
  EXPECT_EQ(start({.command = {"/etc/passwd"}}).start_errno, EACCES);
  EXPECT_EQ(start({.command = {"true"}, .folder = "/no/such/folder"}).start_errno, ENOENT);
}

TEST(Child, AFileWithoutAnInterpreterIsAShellScript) {
  const TestFolder folder;
  const std::filesystem::path script = folder.path() / "script";
  std::ofstream(script) << "test \"$1\" = one && test \"$2\" = two && exit 5\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  EXPECT_EQ(wait_for(start({.command = {script.string(), "one", "two"}})), 5);
}

TEST(Child, ItsPeakOfMemoryIsItsOwn) {
  if (!bare::kCanDropMemory) GTEST_SKIP() << "under a sanitizer memory stays";
  const std::vector<char> much(300 << 20, 1);
  const auto look = [] {
    const Child child = start({.command = {"true"}});
    int status = 0;
    rusage usage{};
    ASSERT_EQ(::wait4(child.pid, &status, 0, &usage), child.pid);
    EXPECT_EQ(status, 0);
    EXPECT_LT(usage.ru_maxrss, 30 << 10) << "KiB";
  };
  look();
  std::thread(look).join();
  EXPECT_EQ(much.back(), 1);
}

TEST(Child, DiesWithItsParentAndAllThatItStartedToo) {
  const TestFolder folder;
  const std::filesystem::path direct = folder.path() / "direct", away = folder.path() / "away";
  // The process runs in a session of its own, ignores SIGTERM, and is an orphan.
  const std::string script = fmt::format(
      "(setsid sh -c 'trap \"\" TERM; echo $$ > {}; while :; do sleep 1; done' &) ; echo $$ > {}; sleep 1000",
      away.string(), direct.string());
  const pid_t parent = ::fork();
  if (parent == 0) {
    start({.command = {"sh", "-c", script}, .own_group = true});
    for (;;) ::pause();
  }
  const pid_t first = number_in(direct), second = number_in(away);
  ASSERT_GT(first, 0);
  ASSERT_GT(second, 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(ends(first));
  EXPECT_TRUE(ends(second));
}

TEST(Child, OneThatOutlivesUsIsLeftAlone) {
  const TestFolder folder;
  const std::filesystem::path number = folder.path() / "number";
  const pid_t parent = ::fork();
  if (parent == 0) {
    start({.command = {"true"}});  // so that there is a guard
    start({.command = {"sh", "-c", fmt::format("echo $$ > {}; exec sleep 1000", number.string())},
           .outlives_us = true});
    for (;;) ::pause();
  }
  const pid_t child = number_in(number);
  ASSERT_GT(child, 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(::kill(child, 0), 0);
  ::kill(child, SIGKILL);
}

TEST(Child, TheGuardIsSmallAndHoldsNothing) {
  if (!bare::kCanDropMemory) GTEST_SKIP() << "under a sanitizer memory stays";
  int ends_of_pipe[2];
  ASSERT_EQ(::pipe(ends_of_pipe), 0);  // inherited by everybody, but not by the guard
  const std::vector<char> much(300 << 20, 1);
  const pid_t parent = ::fork();
  if (parent == 0) {
    start_guard();
    ::close(ends_of_pipe[1]);
    for (;;) ::pause();
  }
  ::close(ends_of_pipe[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends_of_pipe[0], &byte, 1), 0);  // until nobody can write any more
  ::close(ends_of_pipe[0]);
  std::int64_t guard_bytes = 0;
  for (int look = 0; look < 500 && (guard_bytes == 0 || guard_bytes >= 20 << 20); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    guard_bytes = guard_memory(parent);
  }
  EXPECT_GT(guard_bytes, 0);
  EXPECT_LT(guard_bytes, 20 << 20);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_EQ(much.back(), 1);
}

TEST(Child, MarkedProcessesAreEndedTogether) {
  const Child child = start({.command = {"sh", "-c", "setsid sleep 1000 & wait"}});
  const Child other = start({.command = {"sleep", "1000"}});
  ASSERT_EQ(child.start_errno, 0);
  std::thread waiter([&] { wait_for(child); });
  end_marked(child.mark);
  waiter.join();
  EXPECT_EQ(::kill(other.pid, 0), 0);
  end_marked(other.mark);
  EXPECT_EQ(wait_for(other), 128 + SIGTERM);
}

TEST(Tree, IsAProcessAndItsDescendants) {
  const Child child = start({.command = {"sh", "-c", "sleep 1000 & sleep 1000 & wait"}, .own_group = true});
  std::vector<pid_t> tree;
  for (int look = 0; look < 500 && tree.size() < 3; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    tree = tree_of(child.pid);
  }
  ASSERT_EQ(tree.size(), 3u);
  EXPECT_EQ(tree.front(), child.pid);
  const std::int64_t resident = memory_of(tree, 1 << 30), proportional = memory_of(tree, 0);
  EXPECT_GT(proportional, 0);
  EXPECT_LE(proportional, resident);
  ::kill(-child.pid, SIGKILL);
  wait_for(child);
  EXPECT_EQ(memory_of({child.pid}, 0), 0);
}

TEST(Copy, TellsHowItEnded) {
  EXPECT_EQ(run_in_copy([] { return 3; }, 10), 3);
  EXPECT_EQ(run_in_copy([] { return ::raise(SIGILL); }, 10), 128 + SIGILL);
  EXPECT_EQ(run_in_copy([] { return ::pause(); }, 1), 128 + SIGALRM);
  EXPECT_EQ(run_in_copy([]() -> int { throw std::runtime_error("no"); }, 10), 1);
}

}  // namespace
}  // namespace trainyard::process
