#pragma once

#include <string>

namespace trainyard {

// The name by which people call the machine that this process runs on: as Slurm names its node, of which a
// host may have several, else as the host names itself.
std::string node_name();

}  // namespace trainyard
