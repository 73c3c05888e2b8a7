#pragma once

#include <optional>
#include <vector>

#include "cli/ensemble_member.h"
#include "cli/run_report.h"
#include "ensemble/vote.h"
#include "meter/energy.h"
#include "record/run_record.h"

namespace trainyard::cli {

// The records that the processes of an ensemble left.
struct EnsembleParts {
  std::vector<std::optional<record::RunRecord>> members;  // none: lost
  std::optional<record::RunRecord> preprocessor;          // where it is a process of its own
  std::optional<ensemble::VoteResult> vote;
};
EnsembleParts read_parts(const std::filesystem::path& results, const EnsembleSpec& spec);

// The energy and time of the whole ensemble, for its one record and its table.
struct EnsembleUse {
  meter::Energy energy;
  double seconds = 0;                                      // to which it belongs
  std::optional<double> gpu_busy_fraction = std::nullopt;  // mean over that time
  double idle_watts = 0;                                   // 0: not measured
};
record::RunRecord summarize(const EnsembleParts& parts, const EnsembleSpec& spec,
                            const EnsembleOptions& options, const RunStart& start,
                            const EnsembleUse& use = {});
void print_ensemble(const EnsembleParts& parts, const record::RunRecord& summary);

}  // namespace trainyard::cli
