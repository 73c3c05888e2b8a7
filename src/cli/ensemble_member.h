#pragma once

#include <cstdint>
#include <filesystem>

#include "cli/ensemble_options.h"
#include "comm/collective/group.h"

namespace trainyard::cli {

// What processes of an ensemble leave below its folder of results.
std::filesystem::path member_folder(const std::filesystem::path& results, int member);
inline constexpr const char* kVotesFile = "votes.bin";
inline constexpr const char* kPreprocessorRecord = "preprocessor.json";
// Removes a member's record and votes: those of a run before, or of one that was left out, are not this
// run's.
void forget_results(const std::filesystem::path& results, int member);

// Where a member's newest checkpoint stands in the stream; at its beginning where there is none.
train::ensemble::StreamPlace place_of(const EnsembleSpec& spec, const std::filesystem::path& folder);

// Trains one member of the stream, or takes the time of it, evaluates it, and leaves record and votes.
// Returns the exit code.
int run_member_in_place(const EnsembleOptions& options, const EnsemblePart& part);
// The same as a rank of an MPI job, which ends with it when it fails.
int run_member_as_rank(const EnsembleOptions& options, const EnsemblePart& part, comm::collective::Job& job);

// Makes samples for the members of this machine.
int run_preprocessor(const EnsembleOptions& options, const EnsemblePart& part);

}  // namespace trainyard::cli
