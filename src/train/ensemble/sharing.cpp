#include "train/ensemble/sharing.h"

#include "base/error.h"

namespace trainyard::train::ensemble {

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

}  // namespace trainyard::train::ensemble
