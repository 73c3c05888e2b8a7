#pragma once

#include "backend/backend.h"
#include "base/json.h"
#include "predict/runs/device.h"
#include "record/run_record.h"

namespace trainyard::cli {

// Measures this machine's peaks, with some seconds for each; 0 threads: all cores.
Json probe_cpu(int threads, double seconds, bool quiet);
Json gemm_rows(const backend::Backend& backend, const std::vector<std::string>& precisions, double seconds);

// Raises the device's rates to those that a report measured, as a data sheet would state them.
void set_roofs(predict::DeviceSheet& device, const Json& report);
predict::DeviceSheet describe_cpu(const Json& report, const record::Provenance& facts);

// Writes a device as device files do (docs/formats/cluster.md). Unknown facts are left out.
Json json_of_device(const predict::DeviceSheet& device);

// Returns this machine as a device. It is measured for a second at most, and the figures are kept in the
// cache folder for the next time; `quiet` says nothing of it.
predict::DeviceSheet own_cpu(bool quiet);

}  // namespace trainyard::cli
