// The first p ranks gather what they have; the last of them, the merger, passes it on to all behind it.
#include "base/error.h"
#include "train/ensemble/round.h"

namespace trainyard::train::ensemble {
namespace {

using comm::collective::Group;

// What the merger says to those behind it before its blocks.
struct Round {
  std::int64_t blocks = 0;  // kEnd: that was all
};
constexpr std::int64_t kEnd = -1;

class Merger {
 public:
  explicit Merger(Group& behind) : behind_(behind) {}

  // Whether any of those behind, or the merger's own member, wants more. Every round begins so.
  bool ask(bool own) {
    const std::vector<std::int32_t> all = gather(behind_, static_cast<std::int32_t>(own));
    return std::any_of(all.begin(), all.end(), [](std::int32_t wants) { return wants != 0; });
  }
  void pass_on(std::vector<OwnedBlock>& blocks) {
    say({static_cast<std::int64_t>(blocks.size())});
    for (OwnedBlock& block : blocks) {
      auto bytes = static_cast<std::int64_t>(block->bytes().size());
      behind_.broadcast(0, std::as_writable_bytes(std::span(&bytes, 1)));
      broadcast_block(behind_, 0, block, bytes);
    }
  }
  void end() { say({kEnd}); }

 private:
  void say(Round round) { behind_.broadcast(0, std::as_writable_bytes(std::span(&round, 1))); }

  Group& behind_;
};

void run_in_front(const Sharing& sharing, Group& front, Merger* merger) {
  for (bool more = true, wants = true;;) {
    OwnedBlock own = make_block(sharing, more);
    const bool wanted = merger == nullptr ? wants : merger->ask(wants);
    const Word word{own->count() > 0 ? static_cast<std::int64_t>(own->bytes().size()) : 0, more, wanted};
    const std::vector<Word> words = gather(front, word);
    if (!goes_on(words)) break;
    std::vector<OwnedBlock> blocks = gather_blocks(sharing, front, words, std::move(own));
    if (merger != nullptr) merger->pass_on(blocks);
    for (OwnedBlock& block : blocks)
      if (wants) wants = sharing.deliver(std::move(block));
  }
  if (merger != nullptr) merger->end();
}

void run_behind(const Sharing& sharing, Group& behind) {
  for (bool wants = true;;) {
    gather(behind, static_cast<std::int32_t>(wants));
    Round round;
    behind.broadcast(0, std::as_writable_bytes(std::span(&round, 1)));
    if (round.blocks == kEnd) return;
    for (std::int64_t i = 0; i < round.blocks; ++i) {
      std::int64_t bytes = 0;
      behind.broadcast(0, std::as_writable_bytes(std::span(&bytes, 1)));
      OwnedBlock block = sharing.blocks->take();
      broadcast_block(behind, 0, block, bytes);
      if (wants) wants = sharing.deliver(std::move(block));
    }
  }
}

}  // namespace

void broadcast_from_merger(const Sharing& sharing, comm::collective::Job& job) {
  const int p = sharing.preprocessors, merger_rank = p - 1;
  TRAINYARD_CHECK(p >= 1 && p <= job.size());
  const auto front = job.make_group(ranks_between(0, p), sharing.patience_seconds),
             behind = job.make_group(ranks_between(merger_rank, job.size()), sharing.patience_seconds);
  if (front == nullptr) return run_behind(sharing, *behind);
  if (job.rank() != merger_rank) return run_in_front(sharing, *front, nullptr);
  Merger merger(*behind);
  run_in_front(sharing, *front, &merger);
}

}  // namespace trainyard::train::ensemble
