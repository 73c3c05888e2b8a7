#pragma once

#include "comm/collective/collective.h"
#include "meter/cpu.h"

namespace trainyard::train {

// Says how the devices of a run share the work. docs/formats/run-record.md lists the names.
enum class Strategy {
  single,         // one device
  towers_device,  // synchronous; parameters and optimizer on device 0
  towers_host,    // synchronous; parameters and optimizer in host memory, apart from every device's
  allreduce,      // synchronous; each device has its own, and they stay identical
  independent,    // no exchange at all: each device trains a network of its own
  servers,        // devices are processes that exchange through parameter servers, by some mode
};

// Says how the batch changes when devices are added: each gets a whole batch, or its share of one.
enum class Scaling { weak, strong };

const char* name(Strategy strategy);
const char* name(Scaling scaling);
std::vector<std::string> strategy_names();
std::optional<Strategy> find_strategy(const std::string& name);
std::optional<Scaling> find_scaling(const std::string& name);

struct Deployment {
  Strategy strategy = Strategy::single;
  int devices = 1;
  Scaling scaling = Scaling::weak;
  std::string mode = {};  // of servers, as ps::ModeName writes it
  int micro_batches = 1;  // that each device goes through before an update, which uses their mean gradient

  // Returns the strategy as a user names it: with servers, the mode.
  std::string strategy_name() const { return strategy == Strategy::servers ? mode : name(strategy); }
  // Returns each device's part of the requested batch. REQUIRES: `devices` divides it when scaling is strong.
  std::int64_t batch_per_device(std::int64_t batch) const;
  // Returns the images of an update.
  std::int64_t global_batch(std::int64_t batch) const;
};

// Returns the cores of each device: equal shares of so many threads, 0 meaning as many as can be shared
// equally. Error (usage) when they cannot.
std::vector<std::vector<int>> share_cores(int threads, int devices);

// Device 0 draws what a single device draws; every other has random numbers of its own.
std::uint64_t device_seed(std::uint64_t seed, int device);

// RankPlace is the machine and cores on which one of several processes that train together computes.
struct RankPlace {
  std::vector<int> cores;
  int on_machine = 0;              // its number among the ranks of its machine
  std::vector<std::string> nodes;  // on which each rank runs, by rank
};

// `threads`: of all ranks together, 0 meaning as many as can be shared equally. Ranks that may use the same
// cores of a machine share them; a rank that was given cores of its own keeps those. If there are more ranks
// than cores, several have the same one. All ranks call it together. Error (usage) when the threads cannot be
// shared.
RankPlace find_place(comm::collective::Collective& ranks, int threads);

// RanksUse holds the resources that all ranks used together. All of them call it.
struct RanksUse {
  double user_seconds = 0, system_seconds = 0;
  double beside_seconds = 0;      // CPU time of the other ranks on this machine
  double input_wait_seconds = 0;  // of the rank that waited longest
  std::vector<int> cores;         // in reach; those of the second machine count from 1024, and so on
};
RanksUse combine_use(comm::collective::Collective& ranks, const meter::CpuUse& cpu,
                     std::span<const int> cores_in_reach, double input_wait_seconds);

}  // namespace trainyard::train
