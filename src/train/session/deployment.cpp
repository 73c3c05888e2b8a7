#include "train/session/deployment.h"

#include <unistd.h>

#include "base/cores.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "train/session/device_threads.h"

namespace trainyard::train {

namespace {

constexpr std::array kStrategies{Strategy::single, Strategy::towers_device, Strategy::towers_host,
                                 Strategy::allreduce, Strategy::independent};

}  // namespace

const char* name(Strategy strategy) {
  switch (strategy) {
    case Strategy::single:
      return "single";
    case Strategy::towers_device:
      return "towers-device";
    case Strategy::towers_host:
      return "towers-host";
    case Strategy::allreduce:
      return "allreduce";
    case Strategy::independent:
      return "independent";
    case Strategy::servers:
      return "servers";
  }
  return "?";
}

const char* name(Scaling scaling) { return scaling == Scaling::weak ? "weak" : "strong"; }

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy strategy : kStrategies) names.emplace_back(name(strategy));
  return names;
}

std::optional<Strategy> find_strategy(const std::string& wanted) {
  for (const Strategy strategy : kStrategies)
    if (wanted == name(strategy)) return strategy;
  return std::nullopt;
}

std::optional<Scaling> find_scaling(const std::string& wanted) {
  for (const Scaling scaling : {Scaling::weak, Scaling::strong})
    if (wanted == name(scaling)) return scaling;
  return std::nullopt;
}

std::int64_t Deployment::batch_per_device(std::int64_t batch) const {
  TRAINYARD_CHECK(scaling == Scaling::weak || batch % devices == 0);
  return scaling == Scaling::weak ? batch : batch / devices;
}

std::int64_t Deployment::global_batch(std::int64_t batch) const {
  return batch_per_device(batch) * devices * micro_batches;
}

std::vector<std::vector<int>> share_cores(int threads, int devices) {
  const auto most = static_cast<int>(process_cores().size());
  if (devices > most)
    fail(ErrorKind::usage, "{} {}: each wants a core of its own, this process may use {}", Setting{"devices"},
         devices, most);
  if (threads % devices != 0)
    fail(ErrorKind::usage, "{} {}: cannot be shared equally by {} devices", Setting{"threads"}, threads,
         devices);
  const int each = threads == 0 ? pool_limit(most / devices) : threads / devices;
  if (threads > most || threads < 0) cores_for(threads);  // refuses
  if (each > pool_limit(most))
    fail(ErrorKind::usage, "{} {}: built without OpenMP", Setting{"threads"}, threads);
  std::vector<std::vector<int>> shares;
  for (int device = 0; device < devices; ++device) {
    const auto first = process_cores().begin() + device * each;
    shares.emplace_back(first, first + each);
  }
  return shares;
}

std::uint64_t device_seed(std::uint64_t seed, int device) {
  return device == 0 ? seed : mix_streams(seed, static_cast<std::uint64_t>(device));
}

namespace {

using comm::collective::Collective;

constexpr int kCores = 1024;

using Name = std::array<char, 64>;

// An address names a machine and some cores of it.
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
    fail(ErrorKind::usage, "{} {}: cannot be shared equally by {} workers", Setting{"threads"}, threads,
         ranks.size());
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
    fail(ErrorKind::usage, "{} {}: {} workers share {} cores", Setting{"threads"}, threads, sharers,
         cores.size());
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
