#include "data/token_batches.h"

#include <limits>

#include "base/error.h"
#include "base/sample_order.h"

namespace trainyard::data {
namespace {

// 0 to below `count`, all alike but for 1 in 2^32.
std::int32_t below(std::int64_t count, std::uint32_t word) {
  return static_cast<std::int32_t>((static_cast<std::uint64_t>(count) * word) >> 32);
}

}  // namespace

TokenBatches::TokenBatches(const TokenOptions& tokens, const BatchStreamOptions& given)
    : BatchMaker(given), tokens_(tokens), random_(given.seed, stream_of("tokens")) {
  TRAINYARD_CHECK(tokens.length > 0 && tokens.vocabulary > 0 &&
                  tokens.vocabulary <= std::numeric_limits<std::int32_t>::max());
}

std::int64_t TokenBatches::steps() const { return std::numeric_limits<std::int64_t>::max(); }

std::int64_t TokenBatches::fill(std::int64_t step, std::byte* inputs, std::int32_t* lengths, Scratch&) const {
  const BatchStreamOptions& o = options();
  auto* tokens = reinterpret_cast<std::int32_t*>(inputs);
  const std::int64_t first = first_position(step, o.batch, o.worker, o.workers);
  for (std::int64_t i = 0; i < o.batch; ++i) {
    // A sample's words follow each other: its length, then its tokens.
    const auto words = static_cast<std::uint64_t>(first + i) * static_cast<std::uint64_t>(tokens_.length + 2);
    lengths[i] = 1 + below(tokens_.length, random_.word(words));
    for (std::int64_t t = 0; t <= tokens_.length; ++t)
      tokens[t * o.batch + i] =
          below(tokens_.vocabulary, random_.word(words + 1 + static_cast<std::uint64_t>(t)));
  }
  return o.batch;
}

}  // namespace trainyard::data
