#include "train/device_threads.h"

#include <set>

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::train {
namespace {

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
