#pragma once

#include "base/progress.h"

namespace trainyard::report {

// A Library is a script that the page carries inside itself, as it came from its package.
struct Library {
  std::string name, version;
  std::filesystem::path file;
  std::string script, licence;
};

struct LibraryOptions {
  std::filesystem::path cache;  // empty: default_cache_folder()
  ProgressListener* progress = nullptr;
};

// Vega, Vega-Lite and Vega-Embed, in the order in which they must be loaded. Those that are not in the cache,
// or do not have the pinned SHA-256 there, are fetched by npm; Error (io) says what to do when that fails.
std::vector<Library> get_libraries(const LibraryOptions& options);

}  // namespace trainyard::report
