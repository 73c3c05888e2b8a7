#pragma once

#include <atomic>
#include <cstdint>

namespace trainyard {

// Sleeps while `word`, which may lie in memory that processes share, is `seen`, at most so many seconds. May
// return sooner.
void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t seen, double seconds);
// Wakes all who sleep so, in any process. The word was changed before.
void wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace trainyard
