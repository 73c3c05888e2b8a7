#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/collective/collective.h"
#include "meter/cpu.h"

namespace trainyard::train {

// Where one of several processes that train together computes.
struct RankPlace {
  std::vector<int> cores;
  int on_machine = 0;              // its number among the ranks of its machine
  std::vector<std::string> nodes;  // on which each rank runs, by rank
};

// `threads`: of all ranks together, 0 meaning as many as can be shared equally. Ranks that may use the same
// cores of a machine share them; who was given cores of its own keeps those. Where ranks are more than cores,
// several have the same one. All ranks call it together. Error (usage) when the threads cannot be shared.
RankPlace find_place(comm::collective::Collective& ranks, int threads);

// What all ranks used together. All of them call it.
struct RanksUse {
  double user_seconds = 0, system_seconds = 0;
  double beside_seconds = 0;      // CPU time of the other ranks on this machine
  double input_wait_seconds = 0;  // of the rank that waited longest
  std::vector<int> cores;         // in reach; those of the second machine count from 1024, and so on
};
RanksUse combine_use(comm::collective::Collective& ranks, const meter::CpuUse& cpu,
                     std::span<const int> cores_in_reach, double input_wait_seconds);

}  // namespace trainyard::train
