#include "meter/gpu_watch.h"

#include <cstdlib>

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

TEST(GpuWatch, VisibleGpusAreThoseThatCudaWouldTake) {
  const std::vector<std::string> uuids{"GPU-aa1", "GPU-bb2", "GPU-cc3"};
  EXPECT_EQ(visible_gpus(std::nullopt, uuids), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(visible_gpus("2,0", uuids), (std::vector<int>{2, 0}));
  EXPECT_EQ(visible_gpus("GPU-bb,0", uuids), (std::vector<int>{1, 0}));
  EXPECT_EQ(visible_gpus("1,-1,0", uuids), (std::vector<int>{1}));
  EXPECT_EQ(visible_gpus("", uuids), std::vector<int>{});
  EXPECT_EQ(visible_gpus("NoDevFiles", uuids), std::vector<int>{});
}

TEST(GpuWatch, GivenGpusThatARunDoesNotUseAreNamed) {
  ::setenv("SLURM_JOB_GPUS", "0,3", 1);
  const auto on_cpu = check_given_gpus(0), on_one = check_given_gpus(1), on_both = check_given_gpus(2);
  ::unsetenv("SLURM_JOB_GPUS");
  ASSERT_TRUE(on_cpu && on_one);
  EXPECT_EQ(on_cpu->kind, "gpus");
  EXPECT_EQ(on_cpu->text, "2 GPUs were given (0,3), none is used");
  EXPECT_EQ(on_one->text, "2 GPUs were given (0,3), one is used");
  EXPECT_FALSE(on_both);
}

}  // namespace
}  // namespace trainyard::meter
