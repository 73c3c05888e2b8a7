#include "report/libraries.h"

#include "base/error.h"
#include "base/file.h"
#include "data/get/gzip_file.h"
#include "data/get/package.h"
#include "data/get/scratch_folder.h"
#include "process/stop_request.h"

namespace trainyard::report {
namespace {

struct PinnedLibrary {
  data::NpmPackage package;  // entries: the script, the licence
  std::string script_sha256, licence_sha256;
};

const std::vector<PinnedLibrary>& pinned() {
  static const std::vector<PinnedLibrary> kPinned{
      {{"vega",
        "6.4.0",
        894'992,
        "3521fb6ff68a94a40323954f0ba4484ba4014b157bfd37f89a3b063082320c42",
        {"package/build/vega.min.js", "package/LICENSE"}},
       "8f6a3587cf8d4f42c7e08120e3eb05d067e746d554e39d2dcf52acc0bd5ba28f",
       "63727832aaf62004a2b249c933e327f3c90caf49e41a72f4bf436edf632cbda8"},
      {{"vega-lite",
        "6.5.0",
        1'104'896,
        "811230a6bfd2cdbfc359d0c38f624a90df86657b7f251b67be88bcc4eee32b7f",
        {"package/build/vega-lite.min.js", "package/LICENSE"}},
       "83e215e84e308ee8688fa6503ba0f1cf8a3c05c0d61df2841a0b92bf86809e00",
       "f618900fd0d64046963b29f40590cdd1e341a2f41449f99110d82fd81fea808c"},
      {{"vega-embed",
        "7.3.0",
        159'306,
        "d9a958ced3240f0418df7d5e12e97dba6e63cecda15b8403e47a0db7eb6ea859",
        {"package/build/vega-embed.min.js", "package/LICENSE"}},
       "b1455caba2fb1a72fb46025ba0ba1316e2dbc7f0dd40a3f6040172bf9c08ba91",
       "32df67148f0fc3db0eb9e263a7b75d07f1eb14c61955005a4a39c6918d10d137"},
  };
  return kPinned;
}

// Nothing when the file is missing or is not the pinned one.
std::optional<std::string> read_pinned(const std::filesystem::path& path, const std::string& sha256) {
  if (!std::filesystem::is_regular_file(path)) return std::nullopt;
  const std::vector<std::byte> bytes = read_file(path);
  data::Sha256 sum;
  sum.update(bytes.data(), bytes.size());
  if (sum.hex() != sha256) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<Library> find(const PinnedLibrary& wanted, const std::filesystem::path& folder) {
  const auto in_folder = [&](const std::string& entry) {
    return folder / std::filesystem::path(entry).filename();
  };
  Library library{wanted.package.name, wanted.package.version, in_folder(wanted.package.entries[0]), "", ""};
  const auto script = read_pinned(library.file, wanted.script_sha256);
  const auto licence = read_pinned(in_folder(wanted.package.entries[1]), wanted.licence_sha256);
  if (!script || !licence) return std::nullopt;
  library.script = *script;
  library.licence = *licence;
  return library;
}

void fetch_into(const std::filesystem::path& place, const PinnedLibrary& wanted, ProgressListener* progress) {
  const std::filesystem::path libraries = place.parent_path();
  const process::StopRequest guard;
  const data::ScratchFolder scratch(libraries, ".partial-");
  const std::filesystem::path ready = scratch.make("ready");
  data::fetch_npm_package(wanted.package, scratch.path(), ready,
                          {"report",
                           fmt::format("or copy '{}' from a machine where 'trainyard report {}' ran",
                                       libraries.string(), Setting{"get_libraries"}),
                           progress, process::StopRequest::check});
  process::StopRequest::check();
  scratch.publish(ready, place);
}

std::vector<Library> get(const LibraryOptions& options) {
  const std::filesystem::path cache = options.cache.empty() ? default_cache_folder() : options.cache;
  std::vector<Library> libraries;
  for (const PinnedLibrary& wanted : pinned()) {
    const std::filesystem::path place =
        cache / "libraries" / fmt::format("{}-{}", wanted.package.name, wanted.package.version);
    std::optional<Library> library = find(wanted, place);
    if (!library) {
      fetch_into(place, wanted, options.progress);
      library = find(wanted, place);
    }
    if (!library)
      fail(ErrorKind::io, "report: '{}' does not hold the pinned files of {}@{}", place.string(),
           wanted.package.name, wanted.package.version);
    libraries.push_back(*std::move(library));
  }
  return libraries;
}

}  // namespace

std::vector<Library> get_libraries(const LibraryOptions& options) {
  try {
    return get(options);
  } catch (const std::filesystem::filesystem_error& error) {
    fail(ErrorKind::io, "report: {}", error.what());
  }
}

}  // namespace trainyard::report
