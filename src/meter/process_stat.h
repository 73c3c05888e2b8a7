#pragma once

#include "meter/system_files.h"

namespace trainyard::meter {

// ProcessStat is the content of /proc/PID/stat. CPU times come in steps of 10 ms.
struct ProcessStat {
  char state = '?';  // Z: it has ended, and its parent has not asked for its exit code
  double user_seconds = 0, system_seconds = 0;
  double children_user_seconds = 0, children_system_seconds = 0;  // those that it waited for, and theirs
  int threads = 0;
  std::int64_t resident_bytes = 0;
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// ProcessIo is the content of /proc/PID/io: bytes read from and written to storage, without those that a
// cache took, by the process and the children that it waited for.
struct ProcessIo {
  std::int64_t read_bytes = 0, written_bytes = 0;
};
std::optional<ProcessIo> parse_process_io(std::string_view text);

// Each reads a size of this process from /proc/self/status; 0 where that is not readable.
std::int64_t peak_resident_bytes();
std::int64_t resident_bytes();
std::int64_t anonymous_bytes();  // of that, what no file holds

// Returns the memory that this process can still take: as much as the kernel could free, or less where a
// control group limits it; 0 where neither is known.
std::int64_t available_bytes(const SystemFiles& files);

// Returns the bytes that the whole machine wrote to and read from swap since boot.
std::int64_t swapped_bytes(const SystemFiles& files);

// NetworkBytes counts bytes on the wire since boot, headers included, on every interface of this process's
// network namespace, for all processes in it. Loopback traffic counts as both sent and received.
struct NetworkBytes {
  std::int64_t sent = 0, received = 0;
  std::int64_t loopback = 0;  // of either
};

// Parses the text of /proc/net/dev.
NetworkBytes parse_network(std::string_view text);

}  // namespace trainyard::meter
