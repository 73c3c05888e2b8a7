#pragma once

#include <algorithm>
#include <cstdint>

#include "base/philox.h"

namespace trainyard::study {

// Fisher-Yates with counter-based draws: the same order for the same seed and stream.
template <typename Iterator>
void shuffle(Iterator begin, Iterator end, std::uint64_t seed, std::uint64_t stream) {
  const Philox draws(seed, stream);
  for (auto left = static_cast<std::uint64_t>(end - begin); left > 1; --left)
    std::iter_swap(begin + static_cast<std::ptrdiff_t>(left - 1),
                   begin + static_cast<std::ptrdiff_t>(draws.word(left) % left));
}

}  // namespace trainyard::study
