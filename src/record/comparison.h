#pragma once

#include "record/metric.h"
#include "record/run_record.h"
#include "record/verdict.h"

namespace trainyard::record {

// ComparedCell holds the runs of one envelope.
struct ComparedCell {
  Settings a, b;  // envelopes; they differ at most in what is compared across
  Verdict verdict;
};

// UnmatchedCell is a cell that the other side does not have.
struct UnmatchedCell {
  Settings envelope;
  bool only_in_a = false;
  std::vector<SettingDifference> nearest;  // to the cell of the other side that differs least; a, b as there
};

struct Comparison {
  std::vector<ComparedCell> cells;
  std::vector<UnmatchedCell> unmatched;
  int without_value_a = 0, without_value_b = 0;  // runs that failed, or do not have the metric

  int count(Outcome outcome) const;
};

// Compares every cell of A with those of B that agree in all settings except the build and those named in
// `across`. Among many cells random variation makes some look different, so claims then need more evidence
// (Holm 1979). Where the metric asks for an accuracy, a cell of B whose runs miss it in the median is worse,
// however fast it is.
Comparison compare_cells(std::span<const RunRecord> a, std::span<const RunRecord> b,
                         const std::set<std::string>& across, const Metric& metric,
                         const VerdictOptions& options = {});

}  // namespace trainyard::record
