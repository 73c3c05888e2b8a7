#pragma once

#include "record/cell_summary.h"
#include "stats/permutation.h"

namespace trainyard::record {

enum class Outcome {
  same,     // the whole interval is within +-minimum effect
  better,   // B is, by at least the minimum effect, and p_value <= kAlarmLevel
  worse,    // likewise
  unclear,  // more runs, or runs on the same nodes, could tell
};

enum class Pairing {
  nodes,        // within nodes that both sides ran on: what differs between nodes cancels
  runs,         // runs of both sides, all on one node
  distances,    // within distances that a node's cores had on both sides: what a hypervisor did cancels
  node_levels,  // nodes of A against other nodes of B, every node one figure
  steps,        // one run on each side: steps within them, and an assumed spread of runs
};

const char* name(Pairing pairing);

struct VerdictOptions {
  // Published runs of one configuration on one node differ by up to 3.3 % (specs, PSC): less is not worth a
  // verdict.
  double minimum_effect = 0.03;
  // Relative standard deviation from run to run, where one run on each side cannot show it.
  double assumed_run_spread = 0.05;
  bool more_is_better = true;  // of the values compared
  bool noise_worsens = true;   // what disturbs a run makes it worse and never better: speeds and times
};

// Returns the centre that represents the runs of a side.
stats::Centre centre_for(const VerdictOptions& options);

struct Verdict {
  Outcome outcome = Outcome::unclear;
  // Centres of the compared runs, and B over A. Where noise worsens a metric, the centre is the best third of
  // the runs, else the median; over several nodes it is a mean over nodes.
  double value_a = 0, value_b = 0, ratio = 1;
  stats::Interval interval;  // 95 %, of the ratio
  double p_value = 1;
  int runs_a = 0, runs_b = 0;  // that are compared
  Pairing pairing = Pairing::runs;
  int nodes = 0;     // that the ratio comes from
  std::string note;  // one line; why it is unclear, or what it rests on; may be empty
};

// Compares B with A. Runs are the unit, however many steps they have. The main test permutes their labels,
// which is valid whatever disturbed single runs. A test of Student's on logarithms complements it, because
// few runs that lie close together tell more than labels can. Runs on nodes that only one side ran on are
// left out where nodes pair, and so are runs at a distance of the cores that only one side had, or whose
// cores moved. REQUIRES: a run on each side.
Verdict compare_runs(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b,
                     const VerdictOptions& options = {});

// A difference is claimed at this significance.
inline constexpr double kAlarmLevel = 0.05;

}  // namespace trainyard::record
