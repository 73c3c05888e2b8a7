#pragma once

#include <span>
#include <vector>

#include "ps/keys.h"
#include "ps/messages.h"

namespace trainyard::ps {

// All numbers of a run at one moment, and what counts by then: what a run begins with, what a checkpoint has.
struct State {
  // The parameters, then the slots of the optimizer, each as long as the parameters.
  std::vector<std::vector<float>> arrays;
  LedgerStart start;
};

// A server's part of an array: its keys one behind the other; and back.
std::vector<float> part_of(std::span<const float> array, const std::vector<Key>& keys, int server);
void put_part(std::span<const float> part, const std::vector<Key>& keys, int server, std::span<float> array);

}  // namespace trainyard::ps
