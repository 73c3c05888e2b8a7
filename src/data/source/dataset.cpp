#include "data/source/dataset.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "data/source/cache.h"
#include "data/source/cifar10.h"
#include "data/source/mnist.h"

namespace trainyard::data {

void check_labels(std::span<const std::int32_t> labels, int classes, const std::filesystem::path& file) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      fail(ErrorKind::config, "'{}': label {} of image {} is out of range, 0 to {} expected", file.string(),
           labels[i], i, classes - 1);
}

namespace {

// A dataset that lies in files: one row, and its load and store functions.
struct FileSource {
  const char* name;
  Dataset (*load)(const std::filesystem::path& folder, ReadMode read);
  std::vector<std::filesystem::path> (*list)(const std::filesystem::path& folder);
  std::vector<std::string> (*store)(const Dataset& dataset, const std::filesystem::path& folder);
};

constexpr FileSource kFileSources[] = {
    {"mnist", load_mnist, list_mnist, store_mnist},
    {"cifar10", [](const std::filesystem::path& folder, ReadMode read) { return load_cifar10(folder, read); },
     list_cifar10,
     [](const Dataset& dataset, const std::filesystem::path& folder) {
       return store_cifar10(dataset, folder);
     }},
};

const FileSource& source_of(const std::string& name) {
  for (const FileSource& source : kFileSources)
    if (name == source.name) return source;
  fail(ErrorKind::internal, "dataset '{}' has no files", name);
}

}  // namespace

const std::vector<std::string>& file_dataset_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const FileSource& source : kFileSources) names.emplace_back(source.name);
    return names;
  }();
  return kNames;
}

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names = file_dataset_names();
    names.emplace_back("synthetic");
    return names;
  }();
  return kNames;
}

namespace {

void want_dataset_name(const std::string& given) {
  const std::vector<std::string>& names = dataset_names();
  if (std::find(names.begin(), names.end(), given) == names.end())
    fail(ErrorKind::config, "unknown dataset '{}'{}, one of {} expected", given, did_you_mean(given, names),
         fmt::join(names, ", "));
}

}  // namespace

Dataset load_dataset_files(const std::string& name, const std::filesystem::path& folder, ReadMode read) {
  return source_of(name).load(folder, read);
}

std::vector<std::filesystem::path> list_dataset_files(const std::string& name,
                                                      const std::filesystem::path& folder) {
  return source_of(name).list(folder);
}

std::vector<std::string> store_dataset_files(const Dataset& dataset, const std::filesystem::path& folder) {
  return source_of(dataset.name).store(dataset, folder);
}

std::filesystem::path find_dataset(const DatasetOptions& options) {
  want_dataset_name(options.name);
  if (!options.folder.empty()) {
    if (!std::filesystem::is_directory(options.folder))
      fail(ErrorKind::config, "dataset '{}': '{}' is not a folder", options.name, options.folder.string());
    return options.folder;
  }
  const std::filesystem::path cache = options.cache.empty() ? default_cache_folder() : options.cache;
  const std::optional<CacheEntry> entry = find_in_cache(cache, options.name);
  if (!entry)
    fail(ErrorKind::config, "dataset '{}' is not in the cache '{}': run 'trainyard data get {}' first",
         options.name, cache.string(), options.name);
  return entry->folder;
}

Dataset load_dataset(const DatasetOptions& options) {
  want_dataset_name(options.name);
  if (options.name != "synthetic")
    return load_dataset_files(options.name, find_dataset(options), options.read);
  if (options.read != ReadMode::memory)
    fail(ErrorKind::config, "{} {}: data set 'synthetic' has no files", Setting{"read"}, name(options.read));
  return make_synthetic(options.synthetic);
}

}  // namespace trainyard::data
