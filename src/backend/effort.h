#pragma once

#include <cstdint>

namespace trainyard::backend {

// How hard a backend looks for the fastest way to run an op. full: every way that its libraries offer, and
// the close ones in a long run. quick: the few that they put first, for sweeps whose points take seconds.
enum class Effort : std::uint8_t { full, quick };

constexpr const char* name(Effort effort) { return effort == Effort::full ? "full" : "quick"; }

}  // namespace trainyard::backend
