// Tests what runs and studies say of a real GPU: its peak memory, whether it worked, and how its clocks are
// held.
#include <chrono>
#include <thread>

#include "base/test_folder.h"
#include "gpu.h"
#include "meter/clock_pin.h"
#include "meter/gpu_watch.h"
#include "run/bench.h"

namespace trainyard {
namespace {

class WatchedGpu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    nvml_ = meter::Nvml::open();
    if (nvml_ == nullptr) GTEST_SKIP() << "the driver's management library is not there";
  }

  static record::RunRecord bench(double seconds) {
    run::BenchOptions options;
    options.run.network = "deepmnist";
    options.run.batch = 1024;
    options.run.device = DeviceSpec::cuda();
    options.steps = 1'000'000;
    options.stopping.max_seconds = seconds;
    options.no_peak = true;
    return run::bench(options, nullptr).run;
  }

  static double busiest(std::vector<meter::GpuActivity::Gpu> gpus) {
    double most = 0;
    for (const meter::GpuActivity::Gpu& gpu : gpus) most = std::max(most, gpu.busiest_fraction);
    return most;
  }

  std::unique_ptr<meter::Nvml> nvml_;
};

TEST_F(WatchedGpu, ABenchSaysTheGpusPeakMemory) {
  const record::RunRecord run = bench(0.2);
  EXPECT_GE(run.figure_or("device_memory_bytes", 0), run.figure_or("plan_bytes", 1e18));
  EXPECT_NE(record::peak_memory_text(run).find(" of the GPU, "), std::string::npos)
      << record::peak_memory_text(run);
}

TEST_F(WatchedGpu, WorksWhileABenchRunsAndIdlesAfterwards) {
  meter::GpuActivity at_work;
  bench(2);
  EXPECT_GE(busiest(at_work.finish()), meter::kGpuBusyFraction);
  std::this_thread::sleep_for(std::chrono::seconds(3));  // the driver's figure is of the last second
  meter::GpuActivity idle;
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(busiest(idle.finish()), meter::kGpuBusyFraction);
}

// Changes the GPU's clocks for a moment, so it runs where the machine's owner allows that.
TEST_F(WatchedGpu, ClocksAreHeldOrTheReasonIsGiven) {
  if (std::getenv("TRAINYARD_TEST_PINS_CLOCKS") == nullptr)
    GTEST_SKIP() << "TRAINYARD_TEST_PINS_CLOCKS is not set";
  const TestFolder notes;
  {
    const meter::ClockPin pin(notes.path(), "run", nvml_.get());
    if (pin.pinned().find("gpu 0: ") == std::string::npos) {
      const auto of_gpu = [](const std::string& reason) { return reason.starts_with("gpu "); };
      EXPECT_TRUE(std::any_of(pin.refused().begin(), pin.refused().end(), of_gpu));
      return;
    }
    bench(1);
    const std::optional<int> now = nvml_->clocks(0).sm_mhz, wanted = nvml_->default_sm_mhz(0);
    ASSERT_TRUE(now && wanted);
    EXPECT_NEAR(*now, *wanted, 0.02 * *wanted);
  }
  EXPECT_FALSE(std::filesystem::exists(notes.path() / "run.clocks.json"));
}

}  // namespace
}  // namespace trainyard
