#include "place/policy.h"

#include "base/error.h"
#include "base/nearest_name.h"
#include "place/choices.h"

namespace trainyard::place {

const std::vector<Policy>& all_policies() {
  static const std::vector<Policy> policies = {
      {"fifo", "as they come, on the device that is free first", Order::arrival, choose_first_free},
      {"sjf", "the shortest first, on the device that is free first", Order::shortest, choose_first_free},
      {"earliest-finish", "as they come, where each ends first", Order::arrival, choose_earliest_finish},
      {"earliest-finish-shortest", "the shortest first, where each ends first", Order::shortest,
       choose_earliest_finish},
      {"earliest-finish-longest", "the longest first, where each ends first (LPT)", Order::longest,
       choose_earliest_finish},
      {"fastest", "as they come, on the device that runs each fastest", Order::arrival, choose_fastest},
      {"random", "as they come, on any device that they fit on", Order::arrival, choose_by_chance},
      {"cheapest", "as they come, where each costs least", Order::arrival, choose_cheapest},
      {"least-energy", "as they come, where each takes least energy", Order::arrival, choose_least_energy},
      {"legacy-time", "GPUAlloc's time score with its error: sums run on from device to device",
       Order::arrival, choose_legacy_time, false},
      {"legacy-time-fixed", "GPUAlloc's time score as it was meant", Order::arrival, choose_legacy_time_fixed,
       false},
      {"legacy-efficiency", "GPUAlloc's efficiency score of measured shares", Order::arrival,
       choose_legacy_efficiency, false},
      {"legacy-efficiency-scaled", "the same, of shares over the largest of each device, as GPUAlloc learns",
       Order::arrival, choose_legacy_efficiency_scaled, false},
  };
  return policies;
}

const Policy& find_policy(std::string_view name) {
  std::vector<std::string> names;
  std::string listed;
  for (const Policy& policy : all_policies()) {
    if (policy.name == name) return policy;
    names.emplace_back(policy.name);
    listed += (listed.empty() ? "" : ", ") + names.back();
  }
  fail(ErrorKind::usage, "unknown policy '{}'{}; one of {}", name, did_you_mean(name, names), listed);
}

}  // namespace trainyard::place
