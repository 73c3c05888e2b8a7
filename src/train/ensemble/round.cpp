#include "train/ensemble/round.h"

#include <numeric>

#include "base/error.h"

namespace trainyard::train::ensemble {
namespace {

std::span<std::byte> room(OwnedBlock& block, std::int64_t bytes) {
  if (bytes < 0 || static_cast<std::size_t>(bytes) > block->sizes().block_bytes())
    fail(ErrorKind::peer, "a block of {} bytes came, where at most {} fit", bytes,
         block->sizes().block_bytes());
  return block.memory().first(static_cast<std::size_t>(bytes));
}

void check_sound(OwnedBlock& block) {
  if (!block->is_sound())
    fail(ErrorKind::peer, "a block of {} samples came, of at most {}", block->count(),
         block->sizes().capacity);
}

}  // namespace

std::vector<int> ranks_between(int first, int end) {
  std::vector<int> ranks(static_cast<std::size_t>(end - first));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

OwnedBlock make_block(const Sharing& sharing, bool& more) {
  OwnedBlock block = sharing.blocks->take();
  if (more) more = sharing.make(*block);
  return block;
}

std::vector<OwnedBlock> gather_blocks(const Sharing& sharing, comm::collective::Group& group,
                                      std::span<const Word> words, OwnedBlock own) {
  const auto mine = static_cast<std::size_t>(group.rank());
  std::vector<OwnedBlock> blocks;
  std::vector<std::size_t> at(words.size());  // in blocks
  for (std::size_t r = 0; r < words.size(); ++r) {
    at[r] = blocks.size();
    if (words[r].bytes == 0) continue;
    if (r == mine)
      blocks.push_back(std::move(own));
    else
      blocks.push_back(sharing.blocks->take());
  }
  std::vector<std::span<std::byte>> to(words.size());
  std::span<const std::byte> sent;
  for (std::size_t r = 0; r < words.size(); ++r) {
    if (words[r].bytes == 0) continue;
    to[r] = room(blocks[at[r]], words[r].bytes);
    if (r == mine) sent = to[r];
  }
  group.all_gather(sent, to);
  for (OwnedBlock& block : blocks) check_sound(block);
  return blocks;
}

void broadcast_block(comm::collective::Group& group, int root, OwnedBlock& block, std::int64_t bytes) {
  group.broadcast(root, room(block, bytes));
  check_sound(block);
}

}  // namespace trainyard::train::ensemble
