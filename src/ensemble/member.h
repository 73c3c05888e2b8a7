#pragma once

#include "base/progress.h"
#include "comm/collective/collective.h"
#include "ensemble/spec.h"

namespace trainyard::ensemble {

// The processes of an ensemble leave these files below its folder of results.
std::filesystem::path member_folder(const std::filesystem::path& results, int member);

inline constexpr const char* kVotesFile = "votes.bin";

inline constexpr const char* kPreprocessorRecord = "preprocessor.json";

// Removes a member's record and votes: those of a run before, or of one that was left out, are not this
// run's.
void forget_results(const std::filesystem::path& results, int member);

// Returns the place of a member's newest checkpoint in the stream, or the stream's beginning when there is no
// checkpoint.
StreamPlace place_of(const EnsembleSpec& spec, const std::filesystem::path& folder);

// Trains one member of the stream, or takes the time of it, evaluates it, and leaves record and votes.
// Returns the exit code. `notes` hears of what is unexpected; it may be null.
int run_member_in_place(const EnsembleOptions& options, const EnsemblePart& part, ProgressListener* notes);

// Does the same as a rank of an MPI job. A member that fails tells `complain` why and ends the process, and
// thus the job, without its destructors: these would go on to pass samples to the others.
int run_member_as_rank(const EnsembleOptions& options, const EnsemblePart& part, comm::collective::Job& job,
                       ProgressListener& complain);

}  // namespace trainyard::ensemble
