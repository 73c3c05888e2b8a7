#pragma once

#include <string>

#include "study/spec/plan.h"

namespace trainyard::cli {

// Where the runs of a study are to go.
enum class Where { this_machine, cluster };

// "local" or "slurm"; "": a cluster where the study asks one for something, else this machine. Error (usage).
Where to_where(const std::string& launcher, const study::Spec& spec);

// What is known to be impossible before a run is started: a network that does not exist or cannot have the
// sizes, a batch larger than the training set or one that devices cannot split, devices and nodes that
// nothing of the run would use, more threads than there are cores. On this machine also GPUs that it has not.
// `spec` must outlive it.
study::CellCheck cell_check(const study::Spec& spec, Where where);

}  // namespace trainyard::cli
