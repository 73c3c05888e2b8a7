#pragma once

#include "record/provenance.h"

namespace trainyard::meter {

// The machine, the software and the job that this process runs in, as the program itself finds them: sections
// cpu, memory, system, build, libraries, gpu and gpuN, slurm, environment (docs/formats/run-record.md). Of
// the environment only variables on a list, of paths none. Never fails: what cannot be read is absent.
record::Provenance find_provenance();

}  // namespace trainyard::meter
