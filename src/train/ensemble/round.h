#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/collective/group.h"
#include "train/ensemble/sharing.h"

namespace trainyard::train::ensemble {

// What a rank says before blocks are passed.
struct Word {
  std::int64_t bytes = 0;       // of its block; 0: it has none
  std::int32_t has_more = 0;    // behind that
  std::int32_t wants_more = 0;  // its member does, or others for which it stands
};

// Whether there is reason for this round.
inline bool goes_on(std::span<const Word> words) {
  return std::any_of(words.begin(), words.end(), [](const Word& word) { return word.wants_more != 0; }) &&
         std::any_of(words.begin(), words.end(),
                     [](const Word& word) { return word.bytes > 0 || word.has_more != 0; });
}

std::vector<int> ranks_between(int first, int end);

// The next block that this rank makes; `more` becomes false with the last.
OwnedBlock make_block(const Sharing& sharing, bool& more);

// Blocks of all ranks of the group, in their order, its own among them; those without are left out.
std::vector<OwnedBlock> gather_blocks(const Sharing& sharing, comm::collective::Group& group,
                                      std::span<const Word> words, OwnedBlock own);

// Gets a block of so many bytes from root, whose own it is there. Error (peer): it is none.
void broadcast_block(comm::collective::Group& group, int root, OwnedBlock& block, std::int64_t bytes);

}  // namespace trainyard::train::ensemble
