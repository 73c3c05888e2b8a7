#include "train/ensemble/core_share.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/cores.h"
#include "base/philox.h"
#include "train/ensemble/round.h"

namespace trainyard::train::ensemble {

CoreSharers find_core_sharers(comm::collective::Job& job, double patience_seconds) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::uint64_t where = stream_of(host.data());
  for (const int core : process_cores()) where = mix_streams(where, static_cast<std::uint64_t>(core));
  const auto everybody = job.make_group(ranks_between(0, job.size()), patience_seconds);
  const std::vector<std::uint64_t> all = gather(*everybody, where);
  CoreSharers sharers{.count = static_cast<int>(std::count(all.begin(), all.end(), where))};
  sharers.number = static_cast<int>(std::count(all.begin(), all.begin() + job.rank(), where));
  return sharers;
}

std::vector<int> share_of_cores(const std::vector<int>& all, const CoreSharers& sharers, int threads) {
  const std::size_t wanted =
      threads > 0 ? static_cast<std::size_t>(threads)
                  : std::max<std::size_t>(all.size() / static_cast<std::size_t>(sharers.count), 1);
  std::vector<int> own;
  for (std::size_t i = 0; i < std::min(wanted, all.size()); ++i)
    own.push_back(all[(static_cast<std::size_t>(sharers.number) * wanted + i) % all.size()]);
  return own;
}

}  // namespace trainyard::train::ensemble
