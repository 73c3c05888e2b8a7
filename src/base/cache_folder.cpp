#include "base/cache_folder.h"

#include <cstdlib>

#include "base/error.h"

namespace trainyard {

std::filesystem::path default_cache_folder() {
  // The XDG specification: a relative path there is invalid and to be ignored.
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && xdg[0] == '/') return std::filesystem::path(xdg) / "trainyard";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] == '\0')
    fail(ErrorKind::config, "no cache folder: neither XDG_CACHE_HOME nor HOME is set; give --cache DIR");
  return std::filesystem::path(home) / ".cache" / "trainyard";
}

}  // namespace trainyard
