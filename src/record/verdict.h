#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/step_statistics.h"

namespace trainyard::record {

// A run as a comparison sees it: where it ran, and its speed (images per second) step by step, or one figure.
struct MeasuredRun {
  std::string node;  // empty: not known, taken as one and the same
  std::vector<double> speeds;
};

enum class Outcome {
  same,     // the whole interval is within +-minimum effect
  faster,   // B is, by at least the minimum effect, and p_value <= kAlarmLevel (two_level.h)
  slower,   // likewise
  unclear,  // more runs, or runs on the same nodes, could tell
};

const char* name(Outcome outcome);  // SAME, FASTER, ...

enum class Pairing {
  nodes,       // within nodes that both sides ran on: what differs between nodes cancels
  runs,        // runs of both sides, all on one node
  node_means,  // nodes of A against other nodes of B, every node one figure
  steps,       // one run on each side: steps within them, and an assumed spread of runs
};

const char* name(Pairing pairing);

struct VerdictOptions {
  // Published runs of one configuration on one node differ by up to 3.3 % (specs, PSC): less is not worth a
  // verdict.
  double minimum_effect = 0.03;
  // Relative standard deviation from run to run, where one run on each side cannot show it.
  double assumed_run_spread = 0.05;
};

struct Verdict {
  Outcome outcome = Outcome::unclear;
  double ratio = 1;   // speed of B over speed of A: above one, B is faster
  Interval interval;  // 95 %, of the ratio
  double p_value = 1;
  double speed_a = 0, speed_b = 0;  // medians over all runs
  int runs_a = 0, runs_b = 0;
  Pairing pairing = Pairing::runs;
  int nodes = 0;     // that the ratio comes from
  std::string note;  // one line; why it is unclear, or what it rests on; may be empty
};

// Compares B with A. The runs are the unit: a run counts by the median of its speeds, however many steps it
// has. Runs on nodes that only one side ran on are left out where nodes pair.
// REQUIRES: a run on each side, and a positive speed in each run.
Verdict compare_runs(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b,
                     const VerdictOptions& options = {});

}  // namespace trainyard::record
