#include "ensemble/sharing.h"

#include <atomic>
#include <thread>

#include "base/threads.h"
#include "ensemble/stream_part.h"

namespace trainyard::ensemble {

namespace {

constexpr std::array kNames = {
    "baseline",     "all-shared", "single-broadcast", "multi-broadcast", "multi-broadcast-asbuilt",
    "shared-memory"};

}  // namespace

const char* name(Design design) { return kNames[static_cast<std::size_t>(design)]; }

std::vector<std::string> design_names() { return {kNames.begin(), kNames.end()}; }

std::optional<Design> find_design(const std::string& wanted) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (wanted == kNames[i]) return static_cast<Design>(i);
  return std::nullopt;
}

void share(Design design, const Sharing& sharing, comm::collective::Job& job) {
  switch (design) {
    case Design::baseline:
      return share_nothing(sharing);
    case Design::all_shared:
      return share_all(sharing, job);
    case Design::single_broadcast:
      return broadcast_from_merger(sharing, job);
    case Design::multi_broadcast:
      return broadcast_from_each(sharing, job, false);
    case Design::multi_broadcast_as_built:
      return broadcast_from_each(sharing, job, true);
    case Design::shared_memory:
      break;
  }
  TRAINYARD_CHECK(false);
}

void share_nothing(const Sharing& sharing) {
  bool more = true, wants = true;
  while (more && wants) {
    OwnedBlock block = make_block(sharing, more);
    if (block->count() > 0) wants = sharing.deliver(std::move(block));
  }
}

// In every round each rank has a block, and all get all of them, in the order of ranks: every member sees the
// samples in the same order.

void share_all(const Sharing& sharing, comm::collective::Job& job) {
  TRAINYARD_CHECK(sharing.preprocessors == job.size());
  const auto group = job.make_group(ranks_between(0, job.size()), sharing.patience_seconds);
  for (bool more = true, wants = true;;) {
    OwnedBlock own = make_block(sharing, more);
    const Word word{own->count() > 0 ? static_cast<std::int64_t>(own->bytes().size()) : 0, more, wants};
    const std::vector<Word> words = gather(*group, word);
    if (!goes_on(words)) return;
    for (OwnedBlock& block : gather_blocks(sharing, *group, words, std::move(own)))
      if (wants) wants = sharing.deliver(std::move(block));
  }
}

// Each of the first p ranks has a channel to all members, and they do not wait for each other: members see
// the samples in unlike orders.

namespace {

// Runs one channel, in every rank's thread for it.
void run_channel(const Sharing& sharing, comm::collective::Group& all, int root, bool wastes,
                 std::atomic<bool>& wants) {
  for (bool more = true;;) {
    OwnedBlock block = sharing.blocks->take();
    if (all.rank() == root) {
      if (more) more = sharing.make(*block);
    } else if (wastes) {
      sharing.waste(*block);
      block->clear();
    }
    const bool has = all.rank() == root;
    const Word word{has && block->count() > 0 ? static_cast<std::int64_t>(block->bytes().size()) : 0,
                    has && more, wants.load()};
    const std::vector<Word> words = gather(all, word);
    if (!goes_on(words)) return;
    const std::int64_t bytes = words[static_cast<std::size_t>(root)].bytes;
    if (bytes == 0) continue;
    broadcast_block(all, root, block, bytes);
    if (wants && !sharing.deliver(std::move(block))) wants = false;
  }
}

}  // namespace

void broadcast_from_each(const Sharing& sharing, comm::collective::Job& job, bool as_built) {
  const int p = sharing.preprocessors;
  TRAINYARD_CHECK(p >= 1 && p <= job.size());
  std::vector<std::unique_ptr<comm::collective::Group>> groups;
  for (int root = 0; root < p; ++root)
    groups.push_back(job.make_group(ranks_between(0, job.size()), sharing.patience_seconds));
  std::atomic<bool> wants = true;
  FirstError first;
  {
    std::vector<std::jthread> channels;
    for (int root = 0; root < p; ++root)
      channels.emplace_back([&, root] {
        try {
          run_channel(sharing, *groups[static_cast<std::size_t>(root)], root, as_built && job.rank() < p,
                      wants);
        } catch (...) {
          first.keep_current();
          wants = false;
        }
      });
  }
  first.rethrow();
}

// The first p ranks gather what they have; the last of them, the merger, passes it on to all behind it.

namespace {

using comm::collective::Group;

// Round is the message that the merger sends to the ranks behind it before its blocks.
struct Round {
  std::int64_t blocks = 0;  // kEnd: that was all
};
constexpr std::int64_t kEnd = -1;

class Merger {
 public:
  explicit Merger(Group& behind) : behind_(behind) {}

  // Returns whether any of those behind, or the merger's own member, wants more. Every round begins with it.
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

}  // namespace trainyard::ensemble
