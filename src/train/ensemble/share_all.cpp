// In every round each rank has a block, and all get all of them, in the order of ranks: every member sees the
// samples in the same order.
#include "base/error.h"
#include "train/ensemble/round.h"

namespace trainyard::train::ensemble {

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

}  // namespace trainyard::train::ensemble
