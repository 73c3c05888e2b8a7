// Tests the peaks that `trainyard probe --device cuda` shows besides matrix products.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/error.h"

namespace trainyard {
namespace {

TEST(DevicePeaks, EveryFigureIsThereAndPossible) {
  std::unique_ptr<backend::Backend> gpu;
  try {
    gpu = backend::make_backend("cuda", DeviceSpec::cuda());
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  std::set<std::string> names;
  std::map<std::string, double> reading;
  for (const backend::DevicePeak& peak : gpu->device_peaks(0.02)) {
    names.insert(peak.group + "/" + peak.name);
    if (peak.name == "read") reading[peak.group] = peak.value;
    const bool seconds = peak.group.ends_with("_seconds");
    EXPECT_GT(peak.value, seconds ? 1e-8 : 1e8) << peak.name;
    EXPECT_LT(peak.value, seconds ? 1e-2 : 1e14) << peak.name;
  }
  EXPECT_EQ(names,
            (std::set<std::string>{
                "memory_bytes_per_second/read", "memory_bytes_per_second/copy", "cache_bytes_per_second/read",
                "launch_seconds/alone", "launch_seconds/in_a_row", "launch_seconds/in_a_graph",
                "transfer_bytes_per_second/to_device_pageable", "transfer_bytes_per_second/to_device_pinned",
                "transfer_bytes_per_second/to_host_pageable", "transfer_bytes_per_second/to_host_pinned"}));
  EXPECT_GT(reading["cache_bytes_per_second"], reading["memory_bytes_per_second"]);
}

}  // namespace
}  // namespace trainyard
