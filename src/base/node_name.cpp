#include "base/node_name.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace trainyard {

std::string node_name() {
  if (const char* node = std::getenv("SLURMD_NODENAME"); node != nullptr && *node != '\0') return node;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace trainyard
