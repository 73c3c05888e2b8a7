#include "data/recipe/token_mask.h"

#include "base/error.h"
#include "base/philox.h"

namespace trainyard::data {

namespace {

// Shares of the 2^32 words that may be drawn.
constexpr std::uint32_t share(double of_one) { return static_cast<std::uint32_t>(of_one * 0x1p32); }
constexpr std::uint32_t kAsked = share(0.15), kHidden = share(0.8), kReplaced = share(0.9);

}  // namespace

TokenMask::TokenMask(std::int64_t vocabulary) : mask_(static_cast<std::int32_t>(vocabulary - 1)) {
  TRAINYARD_CHECK(mask_ > 0);
}

void TokenMask::apply(std::span<const std::int32_t> tokens, std::int64_t steps, const Draws& draws,
                      std::int64_t stride, std::int32_t* read, std::int32_t* labels) const {
  const Philox random(draws.seed,
                      mix_streams(stream_of("token mask"), static_cast<std::uint64_t>(draws.position)));
  // The draws of a step: whether it is asked for, what is read there, and which other token that may be.
  const auto drawn = [&](std::int64_t step) { return random.block(static_cast<std::uint64_t>(step)); };
  std::int64_t first = 0;  // with the lowest draw: it is asked for in any case
  for (std::int64_t step = 1; step < steps; ++step)
    if (drawn(step)[0] < drawn(first)[0]) first = step;
  for (std::int64_t step = 0; step < std::ssize(tokens); ++step) {
    const std::int32_t token = tokens[static_cast<std::size_t>(step)];
    const auto [asked, kind, other, unused] = drawn(step);
    const bool is_asked = step < steps && (asked < kAsked || step == first);
    labels[step * stride] = is_asked ? token : kNoLabel;
    read[step * stride] =
        !is_asked || kind >= kReplaced
            ? token
            : (kind < kHidden ? mask_
                              : static_cast<std::int32_t>(
                                    (std::uint64_t{other} * static_cast<std::uint64_t>(mask_)) >> 32));
  }
}

}  // namespace trainyard::data
