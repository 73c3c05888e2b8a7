#include "ensemble/shared_stream.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"

namespace trainyard::ensemble {
namespace {

constexpr SampleBlock::Sizes kSizes{.capacity = 5, .sample_bytes = 70};
const auto kSilent = [](const std::string&) {};

// Runs `work` in a process of its own; it leaves with what that returns, 99 for an Error.
template <typename Work>
pid_t start(const Work& work) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  int code = 99;
  try {
    code = work();
  } catch (const Error&) {
  }
  ::_exit(code);
}

int exit_of(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void write_samples(SharedStream& stream, std::int64_t first, std::int64_t count,
                   const Patience& patience = {}) {
  for (std::int64_t id = first; id < first + count;) {
    SampleBlock block = stream.next(patience, kSilent);
    for (; id < first + count && !block.full(); ++id)
      std::fill_n(
          block.add({.id = id, .position = 9, .epoch = 1, .label = static_cast<std::int32_t>(id % 7)}),
          kSizes.sample_bytes, static_cast<std::uint8_t>(id));
    stream.publish();
  }
}

// 0 when ids from 0 come one by one, `count` of them and then the end.
int read_all(const std::string& address, int reader, std::int64_t count, double pause_seconds = 0) {
  SharedReader in(address, reader);
  std::int64_t next = 0;
  while (const std::optional<SampleBlock> block = in.next(20)) {
    for (std::int64_t i = 0; i < block->count(); ++i, ++next)
      if (block->tag(i) != SampleTag{next, 9, 1, static_cast<std::int32_t>(next % 7)} ||
          block->pixels(i)[kSizes.sample_bytes - 1] != static_cast<std::uint8_t>(next))
        return 1;
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_seconds));
    in.release();
  }
  return next == count ? 0 : 2;
}

TEST(SharedStream, EveryReaderGetsEverySampleOnce) {
  for (const int readers : {1, 2, 8}) {
    SharedStream stream(kSizes, 3, readers);
    std::vector<pid_t> members;
    for (int reader = 0; reader < readers; ++reader)
      members.push_back(
          start([&] { return read_all(stream.address(), reader, 503, reader == 1 ? 2e-4 : 0); }));
    write_samples(stream, 0, 503);
    stream.end();
    for (const pid_t member : members) EXPECT_EQ(exit_of(member), 0);
    EXPECT_EQ(stream.readers_left(), 0);
  }
}

TEST(SharedStream, WhoLeavesEarlyHoldsNobodyUp) {
  SharedStream stream(kSizes, 2, 2);
  const pid_t brief = start([&] {
    SharedReader in(stream.address(), 0);
    return in.next(20) ? 0 : 1;
  });
  const pid_t other = start([&] { return read_all(stream.address(), 1, 200); });
  write_samples(stream, 0, 200);
  stream.end();
  EXPECT_EQ(exit_of(brief), 0);
  EXPECT_EQ(exit_of(other), 0);
}

TEST(SharedStream, AKilledReaderIsNamedOrDropped) {
  for (const Lost then : {Lost::abort, Lost::drop}) {
    SharedStream stream(kSizes, 2, 2);
    const pid_t victim = start([&] {
      SharedReader in(stream.address(), 0);
      in.next(20);
      in.release();
      ::pause();
      return 0;
    });
    const pid_t other = start([&] { return read_all(stream.address(), 1, 100); });
    write_samples(stream, 0, 15);  // the third block in the place of the first, which the victim gave back
    ::kill(victim, SIGKILL);
    EXPECT_EQ(exit_of(victim), -SIGKILL);
    std::string said;
    const double began = now_seconds();
    if (then == Lost::abort) {
      try {
        stream.next({30, then}, kSilent);
        ADD_FAILURE() << "went on";
      } catch (const Error& error) {
        said = error.what();
      }
      ::kill(other, SIGKILL);
      exit_of(other);
    } else {
      stream.next({30, then}, [&](const std::string& what) { said = what; });
      write_samples(stream, 15, 85, {30, then});
      stream.end();
      EXPECT_EQ(exit_of(other), 0);
      EXPECT_FALSE(stream.is_reading(0));
    }
    EXPECT_NE(said.find("member 0 is gone"), std::string::npos) << said;
    EXPECT_LT(now_seconds() - began, 5);
  }
}

TEST(SharedStream, AFrozenReaderIsNamedAfterTheDeadline) {
  SharedStream stream(kSizes, 1, 1);
  const pid_t frozen = start([&] {
    SharedReader in(stream.address(), 0);
    ::pause();
    return 0;
  });
  write_samples(stream, 0, 5);
  try {
    stream.next({0.3, Lost::abort}, kSilent);
    ADD_FAILURE() << "went on";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("member 0 took no samples for"), std::string::npos);
  }
  ::kill(frozen, SIGKILL);
  exit_of(frozen);
}

TEST(SharedStream, AMemberThatComesAgainGoesOn) {
  SharedStream stream(kSizes, 4, 1);
  write_samples(stream, 0, 20);
  const pid_t first = start([&] {
    SharedReader in(stream.address(), 0);
    in.next(20);
    in.release();
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  EXPECT_EQ(exit_of(first), -SIGKILL);
  SharedReader again(stream.address(), 0);
  EXPECT_EQ(again.next(20)->tag(0).id, 5);
}

TEST(SharedStream, AReaderNoticesThatTheWriterIsGone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t writer = start([&] {
    SharedStream stream(kSizes, 2, 1);
    const std::string& address = stream.address();
    if (::write(ends[1], address.data(), address.size()) < 0) return 1;
    ::pause();
    return 0;
  });
  char text[64] = "";
  ASSERT_GT(::read(ends[0], text, sizeof text - 1), 0);
  SharedReader in(text, 0);
  ::kill(writer, SIGKILL);
  exit_of(writer);
  const double began = now_seconds();
  EXPECT_THROW(in.next(30), Error);
  EXPECT_LT(now_seconds() - began, 3);
  EXPECT_THROW(SharedReader(text, 0), Error);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(SharedStream, WhoWaitsUsesNoTime) {
  SharedStream stream(kSizes, 2, 1);
  SharedReader in(stream.address(), 0);
  const std::clock_t before = std::clock();
  EXPECT_THROW(in.next(0.4), Error);
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.02);
}

}  // namespace
}  // namespace trainyard::ensemble
