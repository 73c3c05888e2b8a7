#pragma once

#include "net/fault_plan.h"
#include "net/relay.h"

namespace trainyard::net_test {

// What a plan does to the network: REQUIRES a kind that is not a process's. `seed` decides the garbage.
void inject(Relay& relay, const Injection& injection, std::uint64_t seed);

}  // namespace trainyard::net_test
