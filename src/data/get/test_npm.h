#pragma once

// For tests only.

#include <cstdlib>

#include "base/test_folder.h"

namespace trainyard::data {

// Puts a shell script in place of npm; it gets: pack NAME --pack-destination DIR ...
inline void put_npm(const TestFolder& folder, const std::string& script) {
  folder.write("npm", "#!/bin/sh\n" + script + "\n");
  std::filesystem::permissions(folder.path() / "npm", std::filesystem::perms::owner_all);
  ::setenv("PATH", (folder.path().string() + ":/usr/bin:/bin").c_str(), 1);
}

}  // namespace trainyard::data
