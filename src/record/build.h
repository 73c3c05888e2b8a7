#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/run_record.h"

namespace trainyard::record {

// The build of the program that a run measured; "" where the record does not say. Speeds of two builds are
// never pooled. A name that somebody gave to the build, as a study of a foreign program does, counts first,
// then what the program said of itself.
std::string build_of(const RunRecord& run);

// When the build's commit was made, in seconds since 1970; 0: not known.
double commit_seconds_of(const RunRecord& run);

// The commit that a build's name begins with; "" where it begins with none, or with one that had uncommitted
// changes, which nobody can check out.
std::string commit_in(const std::string& build);

// Builds in the order of their first run.
std::vector<std::string> builds_of(std::span<const RunRecord> runs);

// The build of the run that began last; "" without runs.
std::string newest_build(std::span<const RunRecord> runs);

// The only one of `builds` that is called, or begins, so. Error (usage) names those that there are.
std::string find_build(const std::string& name, const std::vector<std::string>& builds);

// The shortest beginnings, of seven characters or more, that tell the builds apart.
std::vector<std::string> short_names(const std::vector<std::string>& builds);

}  // namespace trainyard::record
