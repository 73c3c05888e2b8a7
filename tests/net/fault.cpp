#include "net/fault.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/philox.h"

namespace trainyard::net_test {

std::string Fault::to_string() const {
  switch (kind) {
    case Kind::stall:
      return fmt::format("stall of {} s at byte {}", seconds, at_byte);
    case Kind::flip:
      return fmt::format("flip of bit {} at byte {}", bit, at_byte);
    case Kind::insert:
      return fmt::format("insert of {} bytes, seed {}, at byte {}", bytes, seed, at_byte);
    case Kind::fin:
      return fmt::format("fin at byte {}", at_byte);
    case Kind::rst:
      return fmt::format("rst at byte {}", at_byte);
  }
  return "";
}

Plan seeded_plan(std::uint64_t seed, const Hazards& hazards) {
  return [=](int connection, Way way) {
    const Philox random(seed,
                        mix_streams(static_cast<std::uint64_t>(connection), static_cast<std::uint64_t>(way)));
    const std::pair<Fault::Kind, double> chances[] = {{Fault::Kind::stall, hazards.stall},
                                                      {Fault::Kind::flip, hazards.flip},
                                                      {Fault::Kind::insert, hazards.insert},
                                                      {Fault::Kind::fin, hazards.fin},
                                                      {Fault::Kind::rst, hazards.rst}};
    Script script{hazards.conditions, {}};
    std::uint64_t index = 0;
    for (const auto& [kind, chance] : chances) {
      // Both blocks are drawn for each kind, so that one chance does not move what the others do.
      const Philox::Block where = random.block(index++), what = random.block(index++);
      if (to_unit_float(where[0]) >= chance) continue;
      const std::uint64_t wide = std::uint64_t{where[1]} << 32 | where[2];
      script.faults.push_back(
          {.kind = kind, .at_byte = wide % std::max<std::uint64_t>(1, hazards.within_bytes)});
      Fault& fault = script.faults.back();
      if (kind == Fault::Kind::stall) fault.seconds = to_unit_float(what[0]) * hazards.most_stall_seconds;
      if (kind == Fault::Kind::flip) fault.bit = static_cast<int>(what[0] % 8);
      if (kind == Fault::Kind::insert) {
        fault.seed = what[1];
        fault.bytes = 1 + what[2] % 300;
      }
    }
    std::stable_sort(script.faults.begin(), script.faults.end(),
                     [](const Fault& a, const Fault& b) { return a.at_byte < b.at_byte; });
    return script;
  };
}

}  // namespace trainyard::net_test
