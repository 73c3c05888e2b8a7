#pragma once

#include "record/run_record.h"

namespace trainyard::analyze {

// EnsembleRun is one run of an ensemble, in the figures by which runs are compared.
struct EnsembleRun {
  std::string id, design, model;  // of the first member
  int members = 0, preprocessors = 0, cores = 0;
  double images_per_second = 0;                      // of a member, on average
  double training_seconds = 0, startup_seconds = 0;  // means over members
  int times = 0;                                     // members that were timed
  double start = 0, end = 0;                         // since 1970
  double user_seconds = 0, cpu_seconds = 0;
  double images_consumed = 0, images_made = 0;
  double preprocess_cpu_seconds = 0;  // of cpu_seconds, what it took to make the images
  double energy_joules = 0;           // 0: not known

  // Percent-seconds of an average core.
  double cpu_integral() const { return cores > 0 ? 100 * cpu_seconds / cores : 0; }
  // Returns the cost that a member still has per image, in units of the cost of making one.
  double member_share() const;
};

// Converts those of the records that are of ensembles, and skips the others.
std::vector<EnsembleRun> ensemble_runs(std::span<const record::RunRecord> records);

// Returns the factor by which sharing reduces the CPU time of n members, when each still spends t of the cost
// of making an image.
double reduction_model(double members, double t);

struct CpuReduction {
  std::string design;
  int members = 0;
  double measured = 0;  // CPU an image that a member gets, without sharing over with it
  double t = 0, model = 0;
};
// Compares every design with the baseline of as many members and cores. Runs without such a baseline are left
// out.
std::vector<CpuReduction> cpu_reductions(std::span<const EnsembleRun> runs);

struct CoreSpeedup {
  std::string design;
  int members = 0, cores = 0;
  double speedup = 0;  // images/s with sharing over without
};
std::vector<CoreSpeedup> core_speedups(std::span<const EnsembleRun> runs);

// Each returns a table of the SC'18 scripts, which have no header line.
std::string analyze_output_csv(std::span<const EnsembleRun> runs);
std::string modify_csv(std::span<const EnsembleRun> runs);  // rows by numbers, not by text
std::string gen_peak_csv(std::span<const EnsembleRun> runs);

}  // namespace trainyard::analyze
