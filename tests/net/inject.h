#pragma once

#include "net/fault_plan.h"
#include "net/relay.h"

namespace trainyard::net_test {

// Applies an injection of a plan to the network. REQUIRES: a kind that does not act on a process. `seed`
// determines the garbage.
void inject(Relay& relay, const Injection& injection, std::uint64_t seed);

}  // namespace trainyard::net_test
