#pragma once

#include "ensemble/member.h"
#include "ensemble/vote.h"
#include "meter/energy.h"
#include "record/run_record.h"
#include "run/run_record.h"

namespace trainyard::ensemble {

// The records that the processes of an ensemble left.
struct EnsembleParts {
  std::vector<std::optional<record::RunRecord>> members;  // none: lost
  std::optional<record::RunRecord> preprocessor;          // where it is a process of its own
  std::optional<VoteResult> vote;
};

EnsembleParts read_parts(const std::filesystem::path& results, const EnsembleSpec& spec);

// EnsembleUse is the energy and time of the whole ensemble, for its one record and its table.
struct EnsembleUse {
  meter::Energy energy;
  double seconds = 0;                                      // to which it belongs
  std::optional<double> gpu_busy_fraction = std::nullopt;  // mean over that time
  double idle_watts = 0;                                   // 0: not measured
};

// Returns the accuracy on the test images; NaN where there is none.
double accuracy_of(const record::RunRecord& run);

record::RunRecord summarize(const EnsembleParts& parts, const EnsembleSpec& spec,
                            const EnsembleOptions& options, const run::RunStart& start,
                            const EnsembleUse& use = {});

}  // namespace trainyard::ensemble
