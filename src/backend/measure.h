#pragma once

#include <functional>
#include <limits>
#include <memory>

#include "backend/kernel.h"

namespace trainyard::backend {

inline constexpr double kNeverHopeless = std::numeric_limits<double>::infinity();

// Seconds of one launch on the device: several are recorded and timed together, and the median is taken.
// A launch that takes longer than `hopeless_seconds` is timed only once.
double measure_seconds(Device& device, const std::function<void()>& launch,
                       double hopeless_seconds = kNeverHopeless);

// Where to give up on what competes with `best_seconds`; a lone launch also has its latency.
constexpr double hopeless_against(double best_seconds) { return 3 * best_seconds + 50e-6; }

// The same for a kernel, which is bound to memory of random content that lives only as long as this call: it
// may not be run afterwards. Error (device) when the memory is not there.
double measure_kernel(const std::shared_ptr<Device>& device, const graph::NodeView& node, Kernel& kernel,
                      double hopeless_seconds = kNeverHopeless);

}  // namespace trainyard::backend
