#pragma once

#include <cstdint>
#include <map>

namespace trainyard::ps {

// What a server saw, for the record of a run.
struct ServerCounts {
  std::int64_t updates = 0, gradients = 0, refused_gradients = 0, joined = 0, left = 0;
  std::int64_t most_waiting = 0;       // gradients to be applied
  std::int64_t interruptions = 0;      // times that a server was missing
  std::int64_t apply_nanoseconds = 0;  // on the thread that talks
  std::int64_t elements = 0;
  std::uint64_t bytes_received = 0, bytes_sent = 0;
  // By how many updates the parameters had moved on when a gradient was applied.
  std::map<std::int64_t, std::int64_t> staleness = {};

  bool operator==(const ServerCounts&) const = default;
};

}  // namespace trainyard::ps
