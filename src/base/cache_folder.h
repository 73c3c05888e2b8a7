#pragma once

#include <filesystem>

namespace trainyard::fetch {

// $XDG_CACHE_HOME/trainyard, or ~/.cache/trainyard.
std::filesystem::path default_cache_folder();

}  // namespace trainyard::fetch
