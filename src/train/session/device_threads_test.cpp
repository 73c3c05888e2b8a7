#include "train/session/device_threads.h"

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/parallel.h"
#include "base/test_folder.h"
#include "meter/cpu.h"
#include "train/session/deployment.h"

namespace trainyard::train {

namespace {

// Returns the seconds that threads of this process were ready to run but others had the cores.
double queued_seconds() {
  double seconds = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    double running = 0, queued = 0;
    std::ifstream(task.path() / "schedstat") >> running >> queued;
    seconds += 1e-9 * queued;
  }
  return seconds;
}

// Threads of earlier tests may still be on their way out.
void wait_for_leavers(int cores) {
  const double end = now_seconds() + 5;
  while (cores_in_reach().size() != static_cast<std::size_t>(cores) && now_seconds() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(ThreadLimit, CoresUsedAreThoseAskedFor) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer has a thread of its own, which runs anywhere";
#endif
  const auto most = static_cast<int>(process_cores().size());
  for (int threads = 1; threads <= std::min(most, pool_limit(2)); ++threads) {
    SCOPED_TRACE(threads);
    EXPECT_EQ(limit_threads(threads), threads);
    wait_for_leavers(threads);
    const double queued_before = queued_seconds();
    const meter::CpuSnapshot before = meter::read_cpu();
    parallel_chunks(2 * most, 1, [](std::int64_t, std::int64_t, int) {  // more than the pool could do at once
      const double end = now_seconds() + 0.3;
      while (now_seconds() < end) {
      }
    });
    const meter::CpuUse use = meter::read_cpu().since(before);
    std::vector<int> cores = cores_for(threads);
    std::sort(cores.begin(), cores.end());
    EXPECT_EQ(cores_in_reach(), cores);
    EXPECT_LE(use.cores_used(), threads * 1.05 + 0.05);
    // On a busy machine the threads wait for their cores: that counts as wanting to use them.
    EXPECT_GE(use.cores_used() + (queued_seconds() - queued_before) / use.wall_seconds, 0.85 * threads);
  }
  limit_threads(0);
}

TEST(ThreadLimit, NeverMoreThanTheProcessMayUse) {
  const auto most = static_cast<int>(process_cores().size());
  expect_error(ErrorKind::usage, "this process may use 1 to", [&] { cores_for(most + 1); });
  expect_error(ErrorKind::usage, "threads -1", [&] { cores_for(-1); });
  EXPECT_EQ(cores_for(1).size(), 1u);
}

TEST(ShareCores, GivesEachDeviceItsOwn) {
  const auto most = static_cast<int>(process_cores().size());
  expect_error(ErrorKind::usage, "each wants a core of its own", [&] { share_cores(0, most + 1); });
  if (most >= 2)
    expect_error(ErrorKind::usage, "cannot be shared equally by 2 devices", [&] { share_cores(1, 2); });
  std::vector<int> all;
  for (const auto& share : share_cores(0, most)) {
    EXPECT_EQ(share.size(), 1u);
    all.insert(all.end(), share.begin(), share.end());
  }
  EXPECT_EQ(all, process_cores());
}

TEST(DeviceThreads, EveryDeviceKeepsItsThread) {
  DeviceThreads threads(3);
  std::vector<std::thread::id> first(3), second(3);
  threads.run([&](int device) { first[static_cast<std::size_t>(device)] = std::this_thread::get_id(); });
  threads.run([&](int device) { second[static_cast<std::size_t>(device)] = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 3u);
}

TEST(DeviceThreads, AnErrorNamesTheDeviceThatCausedIt) {
  DeviceThreads threads(3);
  const auto caused_by_device_2 = [](int device) {
    if (device == 0) fail(ErrorKind::peer, "another rank gave up");
    if (device == 2) fail(ErrorKind::io, "no more data");
  };
  expect_error(ErrorKind::io, "device 2: no more data", [&] { threads.run(caused_by_device_2); });
  int ran = 0;
  threads.run([&](int device) {
    if (device == 0) ++ran;
  });
  EXPECT_EQ(ran, 1) << "it can go on afterwards";
}

TEST(DeviceThreads, AnErrorOfAllIsNobodysOwn) {
  DeviceThreads threads(2);
  try {
    threads.run([](int) { fail(ErrorKind::config, "no such thing"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no such thing");
  }
}

}  // namespace

}  // namespace trainyard::train
