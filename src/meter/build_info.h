#pragma once

#include <cstdint>
#include <string>

namespace trainyard::meter {

// What this program was made of. Its source is written by cmake/build_info.cmake.
struct BuildInfo {
  const char* version;
  const char* compiler;  // name and version
  const char* flags;     // those of optimisation and code, without warnings
  const char* build_type;
  const char* commit;           // git hash; empty outside of a repository
  const char* changes;          // hash of what was changed and not committed; empty: nothing
  std::int64_t commit_seconds;  // when the commit was made, since 1970; 0: not known
};

const BuildInfo& build_info();

// Tells this program from every other one that was built: "5a84b2f3e1c0-7f3a" by commit, compiler and flags,
// "5a84b2f3e1c0+9c2d41aa-7f3a" with changes that are not committed, "v0.3.0-7f3a" outside of a repository.
std::string build_id();

}  // namespace trainyard::meter
