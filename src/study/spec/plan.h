#pragma once

#include "base/philox.h"
#include "store/store.h"
#include "study/spec/spec.h"

namespace trainyard::study {

// Shuffles by Fisher-Yates with counter-based draws: the same order for the same seed and stream.
template <typename Iterator>
void shuffle(Iterator begin, Iterator end, std::uint64_t seed, std::uint64_t stream) {
  const Philox draws(seed, stream);
  for (auto left = static_cast<std::uint64_t>(end - begin); left > 1; --left)
    std::iter_swap(begin + static_cast<std::ptrdiff_t>(left - 1),
                   begin + static_cast<std::ptrdiff_t>(draws.word(left) % left));
}

// GridPoint holds the index of a value for each axis.
using GridPoint = std::vector<std::size_t>;

// Returns all points of axes with so many values, the last axis fastest.
std::vector<GridPoint> whole_grid(const std::vector<std::size_t>& sizes);

// Returns so many different points that `accept` takes, in the order of whole_grid. At most half of them are
// corners, where every axis has its first or last value (the seed selects them when there are more). A Latin
// hypercube gives the rest: along every axis they lie as evenly as possible. Returns all points when there
// are fewer. The same arguments give the same result.
std::vector<GridPoint> sample_grid(const std::vector<std::size_t>& sizes, std::int64_t points,
                                   std::uint64_t seed, const std::function<bool(const GridPoint&)>& accept);

// Cell is one point of the matrix.
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

// Returns 16 hexadecimal digits that differ when the text does.
std::string content_hash(const std::string& text);

// CellCheck returns in one line why settings are known to be impossible, or "".
using CellCheck = std::function<std::string(const record::Settings&)>;

// Throws Error (config) when no cell is left, or there are more than can be meant.
Plan make_plan(const Spec& spec, const CellCheck& check);

// Shard is one of several equal shares of a plan's cells, for machines that divide a study: "2/8" is the
// second of eight. Every cell is in exactly one. Only the cell and the number of shards decide which one, so
// that neighbours, which cost about the same, are spread.
struct Shard {
  std::int64_t number = 1, of = 1;
};
Shard parse_shard(const std::string& text);  // Error (usage)
Plan take_shard(const Plan& plan, const Shard& shard);

}  // namespace trainyard::study
