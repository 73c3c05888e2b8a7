#include "net/ps_problem.h"

#include "base/error.h"

namespace trainyard::net_test {

std::vector<std::int64_t> gradients_in(std::span<const float> parameters, const std::vector<ps::Key>& keys,
                                       int servers) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(servers), -1);
  for (const ps::Key& key : keys) {
    std::int64_t& count = counts[static_cast<std::size_t>(key.server)];
    for (std::int64_t i = key.first; i < key.end(); ++i) {
      if (!counts_gradients(i)) continue;
      const auto here = static_cast<std::int64_t>(parameters[static_cast<std::size_t>(i)]);
      if (count < 0) count = here;
      if (here != count)
        fail(ErrorKind::internal, "half a gradient: server {} has {} at element {}, and {} before",
             key.server, here, i, count);
    }
  }
  return counts;
}

}  // namespace trainyard::net_test
