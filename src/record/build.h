#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/run_record.h"

namespace trainyard::record {

// The kind of machine that the run was made on, by what decides speed and is alike on all hosts of that kind:
// "AMD EPYC 9R14, 2 cores", "Intel(R) Xeon(R) Platinum 8480+, 16 cores, NVIDIA H200 x1". Cores are those that
// the run may use. The host's name plays no part: hosts that a service lends are called differently every
// day. "" where the record names neither a processor nor a GPU.
std::string machine_of(const RunRecord& run);

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

// A run of a study may have several attempts: some failed, some went well while the machine was busy with
// something else. All are kept; one speaks for the run.

// Whether a warning tells of something that disturbed the run while it went on.
bool is_disturbance(const Warning& warning);
bool is_disturbed(const RunRecord& run);

// Whether `later` speaks for its run rather than `earlier`, an attempt before it. One that went well
// undisturbed is before one that went well, and that is before all others. Among equals that went well the
// first counts, so that nobody can repeat a run until its speed pleases; among failures the last, whose
// reason is the newest.
bool speaks_instead(const RunRecord& later, const RunRecord& earlier);

// Without the attempts for which another one of the same build speaks. Runs outside of studies are kept, and
// so is the order.
std::vector<RunRecord> that_speak(std::vector<RunRecord> runs);

}  // namespace trainyard::record
