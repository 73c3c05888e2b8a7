#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "meter/system_files.h"

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

// Of this process, from /proc/self/status; 0 where that cannot be read.
std::int64_t peak_resident_bytes();
std::int64_t resident_bytes();
std::int64_t anonymous_bytes();  // of that, what no file holds

// What this process can still take: as much as the kernel could make free, or less where a control group
// limits it; 0 where neither is known.
std::int64_t available_bytes(const SystemFiles& files);

// Written to and read from swap by the whole machine since it started.
std::int64_t swapped_bytes(const SystemFiles& files);

// Bytes on the wire since the machine started, headers and all, of every interface that this process's
// network namespace has: by all processes in it. What goes through the loopback is both sent and received.
struct NetworkBytes {
  std::int64_t sent = 0, received = 0;
  std::int64_t loopback = 0;  // of either
};

// From the text of /proc/net/dev.
NetworkBytes parse_network(std::string_view text);

}  // namespace trainyard::meter
