#include <fmt/format.h>

#include "meter/facts.h"

namespace trainyard::meter {
namespace {

std::optional<std::int64_t> wide(std::optional<int> value) { return value; }

record::Provenance device_facts(const Nvml& nvml, int device) {
  FactSection section(fmt::format("gpu{}", device));
  const GpuDescription gpu = nvml.describe(device);
  section.add("name", gpu.name);
  section.add("uuid", gpu.uuid);
  section.add("memory_bytes", gpu.memory_bytes);
  section.add("max_sm_mhz", wide(gpu.max_sm_mhz));
  section.add("max_memory_mhz", wide(gpu.max_memory_mhz));
  section.add("power_limit_watts", gpu.power_limit_watts);
  section.add("persistence", gpu.persistence);
  section.add("ecc", gpu.ecc);
  section.add("mig", gpu.mig);
  const GpuSample now = nvml.sample(device);
  section.add("memory_used_bytes", now.memory_used_bytes);
  section.add("sm_mhz", wide(now.sm_mhz));
  section.add("memory_mhz", wide(now.memory_mhz));
  section.add("power_watts", now.power_watts);
  section.add("temperature_celsius", wide(now.temperature_celsius));
  section.add("throttle_reasons", fmt::format("{}", fmt::join(now.throttle_reasons, ", ")));
  return section.take();
}

}  // namespace

record::Provenance gpu_facts(const Nvml* nvml) {
  if (!nvml) return {};
  FactSection section("gpu");
  section.add("count", nvml->device_count());
  section.add("driver", nvml->driver_version());
  section.add("cuda_driver", nvml->cuda_version());
  record::Provenance facts = section.take();
  for (int device = 0; device < nvml->device_count(); ++device)
    for (record::Fact& fact : device_facts(*nvml, device)) facts.push_back(std::move(fact));
  return facts;
}

}  // namespace trainyard::meter
