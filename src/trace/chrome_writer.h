#pragma once

#include <filesystem>
#include <string>

#include "trace/trace.h"

namespace trainyard::trace {

// The trace as Chrome's JSON, which Perfetto opens (docs/formats/trace.md): names of processes and threads
// first, then spans and counters in the order of their begin, in microseconds since the first of them.
std::string to_chrome_json(const Trace& trace);

// The same as a file, written whole or not at all.
void write_chrome_json(const Trace& trace, const std::filesystem::path& path);

}  // namespace trainyard::trace
