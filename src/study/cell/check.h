#pragma once

#include "study/spec/plan.h"

namespace trainyard::study {

// The place where the runs of a study are started.
enum class Where { this_machine, cluster };

// "local" or "slurm"; "": a cluster where the study asks one for something, else this machine. Error (usage).
Where to_where(const std::string& launcher, const Spec& spec);

// Returns a check that finds, before a run is started, the cells that can never run: a network that does not
// exist or cannot have the sizes, a batch larger than the training set or one that devices cannot split,
// devices and nodes that no part of the run would use, more threads than there are cores. On this machine it
// also refuses GPUs that the machine does not have. `spec` must outlive the check.
CellCheck cell_check(const Spec& spec, Where where);

}  // namespace trainyard::study
