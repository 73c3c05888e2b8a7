#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard::meter {

// What /proc/PID/stat says of a process. CPU times come in steps of 10 ms.
struct ProcessStat {
  char state = '?';  // Z: it has ended, and its parent has not asked for its exit code
  double user_seconds = 0, system_seconds = 0;
  double children_user_seconds = 0, children_system_seconds = 0;  // those that it waited for, and theirs
  int threads = 0;
  std::int64_t resident_bytes = 0;
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// What /proc/PID/io says: bytes that came from and went to storage, not those that a cache took, of the
// process and of those that it waited for.
struct ProcessIo {
  std::int64_t read_bytes = 0, written_bytes = 0;
};
std::optional<ProcessIo> parse_process_io(std::string_view text);

}  // namespace trainyard::meter
