#pragma once

#include "base/standard.h"

namespace trainyard::meter {

// MpstatLog is the output of `mpstat -P ALL SECONDS`: the percentages of every core, block by block.
struct MpstatLog {
  struct Block {
    double seconds = 0;              // since the first, also across midnight
    std::vector<double> user, busy;  // percent of each core: %usr, and all but %idle
  };
  std::vector<Block> blocks;
  int dropped = 0;  // blocks that were cut, or have another number of cores than the first

  int cores() const { return blocks.empty() ? 0 : static_cast<int>(blocks.front().user.size()); }
};

// Accepts clocks of 12 and of 24 hours, and decimal points and commas. Throws Error (config) when there is no
// block.
MpstatLog parse_mpstat(std::string_view text);

// The integral is in percent-seconds of an average core, by the trapezoidal rule; times cores / 100 it is in
// core-seconds.
enum class CpuPart { user, busy };
double integrate_use(const MpstatLog& log, CpuPart part);

}  // namespace trainyard::meter
