#pragma once

#include <set>
#include <string>

#include "record/run_record.h"
#include "study/progress.h"

namespace trainyard::study {

// Which of a study's failed runs are tried again beyond those that always are.
struct RetryPolicy {
  std::set<record::Status> statuses;
  int disturbed = 0;  // attempts more at a run that went well, but that something disturbed
};

// "timeout,oom" or "all"; "" is none. Error (usage) names what is not the name of a status.
RetryPolicy parse_retry_policy(const std::string& text);

// Whether a further `study run` makes a new attempt. What the surroundings ended (crash, cancelled,
// interrupted) is tried again; what would end the same way again (failed, nan, diverged, oom, timeout,
// refused) only when asked for; ok never.
bool runs_again(const record::RunRecord& run, const RetryPolicy& policy);

// Whether a run that went well is repeated because something disturbed every attempt so far; both are kept.
bool repeats_disturbed(const RunState& state, const RetryPolicy& policy);

}  // namespace trainyard::study
