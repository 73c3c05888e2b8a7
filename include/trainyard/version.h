#pragma once

#include <string>
#include <vector>

namespace trainyard {

struct LibraryVersion {
  std::string name, version;
};

// Build is the library that a program is linked with.
struct Build {
  std::string version;  // "0.3.0"
  std::string
      commit;  // git hash, with "+changes" where there were some; empty: built outside of a repository
  std::string compiler;                   // "GNU 12.2.0"
  std::string flags;                      // of optimisation and code
  std::string build_type;                 // "Release"
  std::vector<LibraryVersion> libraries;  // oneDNN, MPI, CUDA, SQLite, ..., as far as they say it
};
Build describe_build();

}  // namespace trainyard
