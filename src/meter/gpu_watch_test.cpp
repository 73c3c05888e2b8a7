#include "meter/gpu_watch.h"

#include <gtest/gtest.h>

namespace trainyard::meter {
namespace {

TEST(GpuWatch, WithoutAGpuThereIsNothingToAdd) {
  for (const char* address : {"", "ffff:ff:1f.7"}) {
    const GpuWatch watch(address);
    record::RunRecord run;
    add_gpu_figures({watch.sample(), watch.sample()}, run);
    EXPECT_TRUE(run.figures.empty()) << address;
  }
}

TEST(GpuWatch, FiguresHaveTheirUnits) {
  GpuSample before, after;
  before.power_watts = 90.5;
  before.sm_mhz = 1980;
  after.power_watts = 612.25;
  after.temperature_celsius = 61;
  after.memory_used_bytes = 5'000'000'000;
  record::RunRecord run;
  add_gpu_figures({before, after}, run);
  EXPECT_EQ(run.figures, (decltype(run.figures){{"gpu_power_watts_before", 90.5},
                                                {"gpu_clock_hertz_before", 1.98e9},
                                                {"gpu_power_watts_after", 612.25},
                                                {"gpu_temperature_celsius_after", 61},
                                                {"gpu_memory_used_bytes_after", 5e9}}));
}

}  // namespace
}  // namespace trainyard::meter
