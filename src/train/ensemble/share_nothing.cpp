#include "train/ensemble/round.h"

namespace trainyard::train::ensemble {

void share_nothing(const Sharing& sharing) {
  bool more = true, wants = true;
  while (more && wants) {
    OwnedBlock block = make_block(sharing, more);
    if (block->count() > 0) wants = sharing.deliver(std::move(block));
  }
}

}  // namespace trainyard::train::ensemble
