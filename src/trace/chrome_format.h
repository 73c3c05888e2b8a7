#pragma once

#include <istream>

#include "trace/trace.h"

namespace trainyard::trace {

// Upper limits for a file that is read. Real traces stay far below them; damaged and hostile files are
// refused early.
struct ReadLimits {
  std::int64_t file_bytes = std::int64_t{4} << 30;
  std::int64_t spans = 5'000'000;
  int depth = 32;                 // of objects and arrays within each other
  std::size_t name_bytes = 4096;  // what is longer is cut
};

// Chrome's JSON: an object with "traceEvents", or the array alone; ours, PyTorch's and others'. Spans come as
// one event (X) or as two (B, E); what is neither span, name nor counter is passed over. Times begin at 0.
// Error (config) says at which event or byte something is wrong.
Trace read_chrome_json(std::istream& file, const ReadLimits& limits = {});

// Reads a file; errors name it.
Trace read_chrome_file(const std::filesystem::path& path, const ReadLimits& limits = {});

// Returns the trace as Chrome's JSON, which Perfetto opens (docs/formats/trace.md): names of processes and
// threads first, then spans and counters in the order of their begin, in microseconds since the first of
// them.
std::string to_chrome_json(const Trace& trace);

// The same as a file, written whole or not at all.
void write_chrome_json(const Trace& trace, const std::filesystem::path& path);

}  // namespace trainyard::trace
