#pragma once

namespace trainyard::meter {

// What this program was made of. Its source is written by cmake/build_info.cmake.
struct BuildInfo {
  const char* version;
  const char* compiler;  // name and version
  const char* flags;     // those of optimisation and code, without warnings
  const char* build_type;
  const char* commit;  // git hash; empty outside of a repository
  bool uncommitted_changes;
};

const BuildInfo& build_info();

}  // namespace trainyard::meter
