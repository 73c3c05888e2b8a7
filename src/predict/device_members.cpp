#include "predict/device_members.h"

#include <nlohmann/json.hpp>

namespace trainyard::predict {

std::string device_to_json(const Device& device) {
  return nlohmann::ordered_json{{"name", device.name},
                                {"flops_per_second", device.flops_per_second},
                                {"bytes_per_second", device.bytes_per_second},
                                {"launch_seconds", device.launch_seconds},
                                {"memory_bytes", device.memory_bytes},
                                {"multiprocessors", device.multiprocessors},
                                {"watts", device.watts},
                                {"price_per_hour", device.price_per_hour}}
      .dump();
}

Device parse_device(const JsonMembers& members) {
  constexpr double kMost = 1e30;
  return {.name = members.text("name"),
          .flops_per_second = members.number("flops_per_second", 1, kMost),
          .bytes_per_second = members.number("bytes_per_second", 1, kMost),
          .launch_seconds = members.number("launch_seconds", 1e-30, 1),
          .memory_bytes = members.number("memory_bytes", 1, kMost),
          .multiprocessors = members.number("multiprocessors", 1, 1e6),
          .watts = members.number("watts", 0, kMost),
          .price_per_hour = members.number("price_per_hour", 0, kMost)};
}

}  // namespace trainyard::predict
