#include "train/memory_check.h"

#include <algorithm>

#include "base/units.h"
#include "meter/memory.h"

namespace trainyard::train {
namespace {

void want_memory(const SessionOptions& options, double bytes, const backend::Device& device) {
  const std::int64_t base = device.is_host() ? meter::resident_bytes() : 0,
                     free_bytes = device.is_host() ? meter::available_bytes(meter::SystemFiles())
                                                   : static_cast<std::int64_t>(device.free_bytes());
  bytes *= options.sessions;
  if (free_bytes == 0 || bytes <= static_cast<double>(free_bytes)) return;
  constexpr double kMost = 9e18;
  const double needed = bytes + static_cast<double>(base);
  fail(ErrorKind::unsupported, "network '{}' at batch {}: needs {}{} of memory, {} has {}",
       options.model.network, options.model.batch, needed > kMost ? "more than " : "",
       format_bytes(static_cast<std::int64_t>(std::min(needed, kMost))),
       device.is_host() ? "this machine" : device.name(), format_bytes(free_bytes + base));
}

}  // namespace

void check_memory(const SessionOptions& options, const graph::Graph& graph, const backend::Device& device) {
  double bytes = 0;
  for (const graph::Value& value : graph.values()) {
    const bool counts = value.role != graph::Role::intermediate &&
                        (value.role != graph::Role::optimizer_state || options.optimizer_state);
    if (counts) bytes += static_cast<double>(value.type.bytes());
  }
  want_memory(options, bytes, device);
}

void check_memory(const SessionOptions& options, const plan::StepPlan& plan, const backend::Device& device) {
  std::size_t bytes = plan.total_bytes();
  if (!options.optimizer_state) bytes -= plan.bytes(plan::Region::optimizer_state);
  want_memory(options, static_cast<double>(bytes), device);
}

}  // namespace trainyard::train
