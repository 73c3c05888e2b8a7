#include "net/inject.h"

#include "base/error.h"

namespace trainyard::net_test {

void inject(Relay& relay, const Injection& injection, std::uint64_t seed) {
  const auto count = static_cast<std::uint32_t>(injection.amount);
  switch (injection.kind) {
    case Injection::Kind::cut:
      return relay.cut_all();
    case Injection::Kind::delay:
      return relay.set_conditions({.delay_seconds = injection.amount}, injection.seconds);
    case Injection::Kind::throttle:
      return relay.set_conditions({.bytes_per_second = injection.amount}, injection.seconds);
    case Injection::Kind::garbage:
      return relay.order({.kind = Fault::Kind::insert, .seed = seed, .bytes = count}, Way::to_target);
    case Injection::Kind::half_frame:
      return relay.order({.kind = Fault::Kind::rst, .at_byte = count}, Way::to_target);
    case Injection::Kind::freeze:
      for (const Way way : {Way::to_target, Way::to_caller})
        relay.order({.kind = Fault::Kind::stall, .seconds = Relay::kForEver}, way);
      return;
    default:
      fail(ErrorKind::internal, "a relay has no processes");
  }
}

}  // namespace trainyard::net_test
