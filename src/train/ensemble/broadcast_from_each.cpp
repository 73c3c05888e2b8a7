// Each of the first p ranks has a channel to all members, and they do not wait for each other: members see
// the samples in unlike orders.
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "train/ensemble/round.h"

namespace trainyard::train::ensemble {
namespace {

// One channel, in every rank's thread for it.
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
  std::mutex mutex;
  std::exception_ptr first;
  {
    std::vector<std::jthread> channels;
    for (int root = 0; root < p; ++root)
      channels.emplace_back([&, root] {
        try {
          run_channel(sharing, *groups[static_cast<std::size_t>(root)], root, as_built && job.rank() < p,
                      wants);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
          wants = false;
        }
      });
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace trainyard::train::ensemble
