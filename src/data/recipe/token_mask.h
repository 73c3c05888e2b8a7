#pragma once

#include <cstdint>
#include <span>

namespace trainyard::data {

// TokenMask asks for tokens of a sequence as Devlin et al. (2018) do: each is asked for with a probability of
// 15 %. Of those that are asked for, 80 % are the mask in what the network reads, 10 % any token, 10 % what
// they are. At least one token of each sequence is asked for. Thread-safe.
class TokenMask {
 public:
  // The last token of the vocabulary is the mask, and the others are those that stand in for one.
  // REQUIRES: vocabulary > 1.
  explicit TokenMask(std::int64_t vocabulary);

  static constexpr std::int32_t kNoLabel = -1;  // of a token that is not asked for, as losses have it

  // The choice depends on the seed and the position of the sample in its order alone.
  struct Draws {
    std::uint64_t seed;
    std::int64_t position;
  };
  // Writes what the network reads and what it is to say, an element each `stride`. Only the first `steps`
  // tokens count. REQUIRES: 0 < steps <= tokens.size().
  void apply(std::span<const std::int32_t> tokens, std::int64_t steps, const Draws& draws,
             std::int64_t stride, std::int32_t* read, std::int32_t* labels) const;

 private:
  const std::int32_t mask_;
};

}  // namespace trainyard::data
