#pragma once

#include <string>

#include "record/run_record.h"

namespace trainyard::record {

// The kind of machine that the run was made on, by what decides speed and is alike on all hosts of that kind:
// "AMD EPYC 9R14, 2 cores", "Intel(R) Xeon(R) Platinum 8480+, 16 cores, NVIDIA H200 x1". Cores are those that
// the run may use. The host's name plays no part: hosts that a service lends are called differently every
// day. "" where the record names neither a processor nor a GPU.
std::string machine_of(const RunRecord& run);

}  // namespace trainyard::record
