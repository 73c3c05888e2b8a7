#pragma once

#include <atomic>

#include "base/standard.h"

namespace trainyard {

// Sleeps while `word`, which may lie in memory shared between processes, equals `seen`, at most this many
// seconds. It may return sooner.
void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t seen, double seconds);
// Wakes all threads that sleep on the word, in any process. REQUIRES: the word was changed before.
void wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace trainyard
