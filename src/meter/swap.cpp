#include "meter/swap.h"

#include <unistd.h>

namespace trainyard::meter {

std::int64_t swapped_bytes(const SystemFiles& files) {
  const std::string text = files.text("/proc/vmstat").value_or("");
  const std::int64_t pages =
      keyed_integer(text, "pswpin").value_or(0) + keyed_integer(text, "pswpout").value_or(0);
  return pages * ::sysconf(_SC_PAGESIZE);
}

}  // namespace trainyard::meter
