#pragma once

#include "record/run_record.h"

namespace trainyard::record {

// Returns the kind of machine that the run was made on, by the parts that decide speed and are alike on all
// hosts of that kind: "AMD EPYC 9R14, 2 cores", "Intel(R) Xeon(R) Platinum 8480+, 16 cores, NVIDIA H200 x1".
// Cores are those that the run may use. The host's name plays no part, because hosts that a service lends
// have different names every day. Returns "" where the record names neither a processor nor a GPU.
std::string machine_of(const RunRecord& run);

// Returns the build of the program that a run measured; "" where the record does not name it. Speeds of two
// builds are never pooled. A name that a user gave to the build, as a study of a foreign program does, takes
// precedence over the program's own.
std::string build_of(const RunRecord& run);

// Returns the time of the build's commit, in seconds since 1970; 0: not known.
double commit_seconds_of(const RunRecord& run);

// Returns the commit that a build's name begins with; "" where it begins with none, or with one that had
// uncommitted changes, which nobody can check out.
std::string commit_in(const std::string& build);

// Returns builds in the order of their first run.
std::vector<std::string> builds_of(std::span<const RunRecord> runs);

// Returns the build of the run that began last; "" without runs.
std::string newest_build(std::span<const RunRecord> runs);

// Returns the only one of `builds` that has, or begins with, this name. Throws Error (usage) naming the known
// builds.
std::string find_build(const std::string& name, const std::vector<std::string>& builds);

// Returns the shortest prefixes, of seven characters or more, that tell the builds apart.
std::vector<std::string> short_names(const std::vector<std::string>& builds);

// A run of a study may have several attempts: some failed, some went well while the machine was busy with
// something else. All are kept, and one of them represents the run. The functions below choose it.

// Tells whether a warning reports something that disturbed the run while it went on.
bool is_disturbance(const Warning& warning);
bool is_disturbed(const RunRecord& run);

// Tells whether `later` represents its run rather than `earlier`, an attempt before it. An undisturbed
// attempt that went well precedes a disturbed one that went well, and that precedes all others. Among equals
// that went well the first counts, so that nobody can repeat a run until its speed pleases. Among failures
// the last counts, because its reason is the newest.
bool speaks_instead(const RunRecord& later, const RunRecord& earlier);

// Removes the attempts that another one of the same build represents. It keeps runs outside of studies, and
// the order.
std::vector<RunRecord> that_speak(std::vector<RunRecord> runs);

}  // namespace trainyard::record
