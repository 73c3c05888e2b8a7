#pragma once

#include "record/provenance.h"

namespace trainyard::meter {

// The machine, the software and the job that this process runs in, as the program itself finds them: sections
// cpu, memory, system, build, libraries, gpu and gpuN, slurm, environment (docs/formats/run-record.md). Of
// the environment only variables on a list, of paths none. Never fails: what cannot be read is absent.
record::Provenance find_provenance();

// Of these the sections that describe the machine, for a program that says nothing of where it ran: cpu,
// memory, system and GPUs.
record::Provenance find_machine();

}  // namespace trainyard::meter
