#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard::meter {

// Bytes on the wire since the machine started, headers and all, of every interface that this process's
// network namespace has: by all processes in it. What goes through the loopback is both sent and received.
struct NetworkBytes {
  std::int64_t sent = 0, received = 0;
  std::int64_t loopback = 0;  // of either
};

// From the text of /proc/net/dev.
NetworkBytes parse_network(std::string_view text);

}  // namespace trainyard::meter
