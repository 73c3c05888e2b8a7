#pragma once

#include <functional>

#include "comm/collective/group.h"
#include "train/ensemble/design.h"
#include "train/ensemble/sample_block.h"

namespace trainyard::train::ensemble {

// One rank's part in passing blocks from those who preprocess to all members. The functions below return when
// no member wants more, or when all that is made was delivered. A member that wants no more stays until then:
// what others need goes through its hands. Error (peer) names the rank that does not come.
struct Sharing {
  std::shared_ptr<BlockPool> blocks;
  int preprocessors = 1;  // the first ranks
  double patience_seconds = 60;

  // Adds to an empty block what this rank makes next, until it is full; false: nothing comes behind it. By
  // one thread at a time.
  std::function<bool(SampleBlock& block)> make;
  // Makes what nobody gets; of the first ranks in the design as it was built.
  std::function<void(SampleBlock& block)> waste;
  // Hands a block to this rank's member; false: it wants no more. By any thread.
  std::function<bool(OwnedBlock block)> deliver;
};

// Any design but shared_memory, which passes nothing.
void share(Design design, const Sharing& sharing, comm::collective::Job& job);

void share_nothing(const Sharing& sharing);
void share_all(const Sharing& sharing, comm::collective::Job& job);
void broadcast_from_merger(const Sharing& sharing, comm::collective::Job& job);
void broadcast_from_each(const Sharing& sharing, comm::collective::Job& job, bool as_built);

}  // namespace trainyard::train::ensemble
