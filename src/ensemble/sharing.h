#pragma once

#include "comm/collective/collective.h"
#include "ensemble/sample_block.h"

namespace trainyard::ensemble {

// Design lists the ways in which preprocessed samples reach every member; n members, of which p preprocess.
enum class Design : std::uint8_t {
  baseline,                  // nothing is shared: every member preprocesses all for itself
  all_shared,                // p = n: each gathers what all have
  single_broadcast,          // the p gather, and the last of them broadcasts to the others
  multi_broadcast,           // each of the p broadcasts to all
  multi_broadcast_as_built,  // the same with the defect of its first version: for every block that any of
                             // them sends, each of the p makes one that it throws away
  shared_memory,             // the first writes into memory that all members of its machine read
};

const char* name(Design design);  // "all-shared"
std::vector<std::string> design_names();
std::optional<Design> find_design(const std::string& name);

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

}  // namespace trainyard::ensemble
