#include "meter/nvml.h"

#include <gtest/gtest.h>

#include "meter/provenance.h"

namespace trainyard::meter {
namespace {

TEST(Nvml, ReasonsAreThoseThatCostSpeed) {
  EXPECT_TRUE(throttle_reasons(0).empty());
  EXPECT_TRUE(throttle_reasons(0x1 | 0x2).empty());  // idle; a clock that was asked for
  EXPECT_EQ(throttle_reasons(0x4 | 0x40), (std::vector<std::string>{"power cap", "hardware thermal"}));
}

TEST(Nvml, ARealGpuGivesSaneFigures) {
  const std::unique_ptr<Nvml> nvml = Nvml::open();
  if (!nvml) GTEST_SKIP() << "no NVIDIA GPU here";
  EXPECT_FALSE(nvml->driver_version().empty());
  EXPECT_NE(nvml->cuda_version().find('.'), std::string::npos) << nvml->cuda_version();
  for (int device = 0; device < nvml->device_count(); ++device) {
    const GpuDescription gpu = nvml->describe(device);
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_TRUE(gpu.uuid.starts_with("GPU-")) << gpu.uuid;
    ASSERT_TRUE(gpu.memory_bytes && gpu.max_sm_mhz);
    EXPECT_GT(*gpu.memory_bytes, std::int64_t{1} << 30);
    EXPECT_LT(*gpu.memory_bytes, std::int64_t{1} << 40);
    EXPECT_GT(*gpu.max_sm_mhz, 300);
    EXPECT_LT(*gpu.max_sm_mhz, 10000);
    const GpuSample now = nvml->sample(device);
    ASSERT_TRUE(now.sm_mhz && now.temperature_celsius && now.memory_used_bytes);
    EXPECT_LE(*now.sm_mhz, *gpu.max_sm_mhz);
    EXPECT_GT(*now.temperature_celsius, 5);
    EXPECT_LT(*now.temperature_celsius, 120);
    EXPECT_LE(*now.memory_used_bytes, *gpu.memory_bytes);
    if (now.power_watts && gpu.power_limit_watts) {
      EXPECT_GT(*now.power_watts, 1);
      EXPECT_LT(*now.power_watts, 2 * *gpu.power_limit_watts);
    }
    EXPECT_LE(now.busy_fraction.value_or(0), 1);
  }
  for (const record::Fact& fact : gpu_facts(nvml.get()))
    fmt::print("{} {} {}\n", fact.section, fact.key, record::to_text(fact.value));
}

}  // namespace
}  // namespace trainyard::meter
