#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::train::ensemble {

// How samples get from where they are preprocessed to every member; n members, of which p preprocess.
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

}  // namespace trainyard::train::ensemble
