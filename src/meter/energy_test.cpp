#include "meter/energy.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::meter {
namespace {

void write_counter(const TestFolder& machine, int package, const std::string& file, long microjoules) {
  const std::string folder = "sys/class/powercap/intel-rapl:" + std::to_string(package);
  std::filesystem::create_directories(machine.path() / folder);
  machine.write(folder + "/" + file, std::to_string(microjoules) + "\n");
}

TEST(EnergyMeter, AddsPackagesAndStandsCountersThatBeginAnew) {
  const TestFolder machine;
  for (const int package : {0, 1}) {
    write_counter(machine, package, "energy_uj", 900'000'000);
    write_counter(machine, package, "max_energy_range_uj", 1'000'000'000);
  }
  EnergyMeter meter(SystemFiles(machine.path().string()));
  EXPECT_EQ(meter.read().processor_joules, 0);
  write_counter(machine, 0, "energy_uj", 950'000'000);
  EXPECT_DOUBLE_EQ(*meter.read().processor_joules, 50);
  write_counter(machine, 0, "energy_uj", 20'000'000);   // 70 J on
  write_counter(machine, 1, "energy_uj", 901'000'000);  // 1 J on
  EXPECT_NEAR(*meter.read().processor_joules, 50 + 70 + 1, 1e-9);
}

TEST(EnergyMeter, AMachineThatDoesNotSayHasNone) {
  const TestFolder machine;
  EnergyMeter meter(SystemFiles(machine.path().string()));
  EXPECT_FALSE(meter.read().processor_joules.has_value());
}

}  // namespace
}  // namespace trainyard::meter
