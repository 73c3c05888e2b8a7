#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/store.h"
#include "study/spec.h"

namespace trainyard::study {

// One point of the matrix.
struct Cell {
  std::string hash;  // of everything that decides what the run does: 16 hexadecimal digits
  record::Settings settings;
  std::string refused;  // why it can never run; empty when it can
};

struct Plan {
  std::vector<Cell> cells;              // nested order
  std::vector<store::PlannedRun> runs;  // cells x replicates, in the study's order
  std::int64_t excluded = 0;            // points that the exclusions left out
  std::vector<std::string> remarks;     // such as an exclusion that matches nothing
};

// 16 hexadecimal digits that differ when the text does.
std::string content_hash(const std::string& text);

// What is known to be impossible about settings, in one line, or "".
using CellCheck = std::function<std::string(const record::Settings&)>;

// Error (config) when no cell is left, or there are more than can be meant.
Plan make_plan(const Spec& spec, const CellCheck& check);

// One of several equal shares of a plan's cells, for machines that share a study out: "2/8" is the second of
// eight. Every cell is in exactly one; which one follows from the cell alone and how many there are, so that
// neighbours, which cost about the same, are spread.
struct Shard {
  std::int64_t number = 1, of = 1;
};
Shard parse_shard(const std::string& text);  // Error (usage)
Plan take_shard(const Plan& plan, const Shard& shard);

}  // namespace trainyard::study
