#include "train/rank_place.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/cores.h"
#include "base/error.h"
#include "base/node_name.h"
#include "train/deployment.h"

namespace trainyard::train {
namespace {

using comm::collective::Collective;

constexpr int kCores = 1024;

using Name = std::array<char, 64>;

// A machine and some cores of it.
struct Address {
  Name machine{};
  std::array<std::uint64_t, kCores / 64> cores{};  // one bit each

  bool operator==(const Address&) const = default;
  bool has(int core) const { return (cores[static_cast<std::size_t>(core) / 64] >> (core % 64) & 1) != 0; }
};

Address address_of(std::span<const int> cores) {
  Address address;
  ::gethostname(address.machine.data(), address.machine.size() - 1);
  for (const int core : cores)
    if (core < kCores) address.cores[static_cast<std::size_t>(core) / 64] |= std::uint64_t{1} << (core % 64);
  return address;
}

std::vector<std::string> nodes_of(Collective& ranks) {
  Name own{};
  node_name().copy(own.data(), own.size() - 1);
  std::vector<std::string> nodes;
  for (const Name& name : gather(ranks, own)) nodes.emplace_back(name.data());
  return nodes;
}

}  // namespace

RankPlace find_place(Collective& ranks, int threads) {
  if (threads % ranks.size() != 0)
    fail(ErrorKind::usage, "--threads {}: cannot be shared equally by {} workers", threads, ranks.size());
  const Address own = address_of(process_cores());
  RankPlace place;
  place.nodes = nodes_of(ranks);
  int before = 0, sharers = 0;  // of the same cores
  int rank = 0;
  for (const Address& address : gather(ranks, own)) {
    const bool earlier = rank++ < ranks.rank();
    if (earlier && address.machine == own.machine) ++place.on_machine;
    if (earlier && address == own) ++before;
    if (address == own) ++sharers;
  }
  const std::vector<int>& cores = process_cores();
  if (sharers <= static_cast<int>(cores.size())) {
    place.cores = share_cores(threads / ranks.size() * sharers, sharers)[static_cast<std::size_t>(before)];
    return place;
  }
  if (threads > ranks.size())
    fail(ErrorKind::usage, "--threads {}: {} workers share {} cores", threads, sharers, cores.size());
  place.cores = {cores[static_cast<std::size_t>(before) % cores.size()]};
  return place;
}

RanksUse combine_use(Collective& ranks, const meter::CpuUse& cpu, std::span<const int> cores_in_reach,
                     double input_wait_seconds) {
  struct Own {
    Address address;
    double user_seconds, system_seconds, input_wait_seconds;
  };
  const Own own{address_of(cores_in_reach), cpu.user_seconds, cpu.system_seconds, input_wait_seconds};
  RanksUse use;
  use.beside_seconds = -cpu.cpu_seconds();
  std::vector<Name> machines;
  for (const Own& each : gather(ranks, own)) {
    use.user_seconds += each.user_seconds;
    use.system_seconds += each.system_seconds;
    use.input_wait_seconds = std::max(use.input_wait_seconds, each.input_wait_seconds);
    if (each.address.machine == own.address.machine)
      use.beside_seconds += each.user_seconds + each.system_seconds;
    const auto machine = std::find(machines.begin(), machines.end(), each.address.machine);
    const auto first = static_cast<int>(machine - machines.begin()) * kCores;
    if (machine == machines.end()) machines.push_back(each.address.machine);
    for (int core = 0; core < kCores; ++core)
      if (each.address.has(core)) use.cores.push_back(first + core);
  }
  std::sort(use.cores.begin(), use.cores.end());
  use.cores.erase(std::unique(use.cores.begin(), use.cores.end()), use.cores.end());
  return use;
}

}  // namespace trainyard::train
