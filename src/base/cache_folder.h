#pragma once

#include <filesystem>

namespace trainyard {

// $XDG_CACHE_HOME/trainyard, or ~/.cache/trainyard.
std::filesystem::path default_cache_folder();

}  // namespace trainyard
