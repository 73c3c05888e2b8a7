#include "data/view/staging.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/units.h"
#include "data/get/gzip_file.h"
#include "data/source/dataset.h"

namespace trainyard::data {

namespace {

constexpr const char* kPrefix = ".trainyard-staging-";

std::string filesystem_of(const std::filesystem::path& folder) {
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0)
    fail(ErrorKind::config, "staging: '{}': {}", folder.string(), std::strerror(errno));
  switch (static_cast<std::uint32_t>(status.f_type)) {
    case TMPFS_MAGIC:
      return "tmpfs";
    case RAMFS_MAGIC:
      return "ramfs";
    case EXT4_SUPER_MAGIC:
      return "ext";
    case XFS_SUPER_MAGIC:
      return "xfs";
    case BTRFS_SUPER_MAGIC:
      return "btrfs";
    case NFS_SUPER_MAGIC:
      return "nfs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlay";
    case 0x0bd00bd0:
      return "lustre";
    default:
      return fmt::format("{:#x}", static_cast<std::uint32_t>(status.f_type));
  }
}

std::filesystem::path default_folder(StagingTarget target) {
  if (target == StagingTarget::memory) return "/dev/shm";
  for (const char* variable : {"SLURM_TMPDIR", "LOCAL", "TMPDIR"})
    if (const char* folder = std::getenv(variable); folder != nullptr && folder[0] != '\0') return folder;
  return "/tmp";
}

std::filesystem::path checked_folder(const StagingOptions& options) {
  const std::filesystem::path folder =
      options.folder.empty() ? default_folder(options.target) : options.folder;
  if (!std::filesystem::is_directory(folder))
    fail(ErrorKind::config, "staging: '{}' is not a folder", folder.string());
  if (options.target == StagingTarget::memory)
    if (const std::string found = filesystem_of(folder); found != "tmpfs" && found != "ramfs")
      fail(ErrorKind::config, "staging: '{}' is not in memory: its file system is {}, tmpfs expected",
           folder.string(), found);
  return folder;
}

struct Source {
  std::filesystem::path path;
  std::int64_t bytes = 0;
  std::string sha256;  // what the manifest says; empty: there is none
};

std::vector<Source> find_sources(const std::string& dataset, const std::filesystem::path& folder) {
  const std::optional<CacheEntry> manifest = find_manifest(folder, dataset);
  std::vector<Source> sources;
  for (const std::filesystem::path& path : list_dataset_files(dataset, folder)) {
    std::error_code code;
    Source source{path, static_cast<std::int64_t>(std::filesystem::file_size(path, code)), ""};
    if (code) fail(ErrorKind::config, "staging: '{}': {}", path.string(), code.message());
    if (manifest)
      for (const CachedFile& file : manifest->files)
        if (file.name == path.filename()) source.sha256 = file.sha256;
    sources.push_back(source);
  }
  return sources;
}

// Returns the SHA-256 of the bytes read; `tick` receives the bytes of each piece.
template <typename Tick>
std::string copy_file(const Source& source, const std::filesystem::path& target, const Tick& tick) {
  std::ifstream stream(source.path, std::ios::binary);
  if (!stream) fail(ErrorKind::io, "cannot read '{}': {}", source.path.string(), std::strerror(errno));
  AtomicFile file(target);
  data::Sha256 sum;
  std::vector<char> piece(std::size_t{1} << 20);
  std::int64_t copied = 0;
  while (stream.read(piece.data(), std::ssize(piece)) || stream.gcount() > 0) {
    const auto bytes = static_cast<std::size_t>(stream.gcount());
    sum.update(piece.data(), bytes);
    file.write(piece.data(), bytes);
    copied += stream.gcount();
    tick(stream.gcount());
  }
  if (stream.bad() || copied != source.bytes)
    fail(ErrorKind::io, "staging: {} bytes read of '{}', which had {}: it changed or cannot be read", copied,
         source.path.string(), source.bytes);
  file.commit();
  return sum.hex();
}

void want_sum(const Source& source, const std::string& found) {
  if (!source.sha256.empty() && source.sha256 != found)
    fail(ErrorKind::config,
         "staging: '{}' is damaged: SHA-256 {:.12}... found, {:.12}... in its manifest; get the data set "
         "again",
         source.path.string(), found, source.sha256);
}

// Drops the file from the page cache, so that reading it back asks the disk. A file in memory has nothing to
// drop.
void drop_from_page_cache(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
}

void write_staging_manifest(const std::string& dataset, const std::filesystem::path& source,
                            const StagingReport& report) {
  Json json{{"schema", 1},
            {"name", dataset},
            {"source", "folder " + std::filesystem::absolute(source).string()},
            {"files", Json::array()}};
  for (const CachedFile& file : report.files)
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  AtomicFile file(report.folder / "manifest.json");
  file.write(json_text(json, 1) + "\n");
  file.commit();
}

double cached_fraction(const std::vector<Source>& sources) {
  std::int64_t bytes = 0, resident = 0;
  for (const Source& source : sources) {
    const MappedFile map(source.path);
    bytes += map.bytes();
    resident += map.resident_bytes();
  }
  return static_cast<double>(resident) / static_cast<double>(std::max<std::int64_t>(bytes, 1));
}

}  // namespace

StagedFiles::StagedFiles(const std::string& dataset, const std::filesystem::path& source,
                         const StagingOptions& options)
    : scratch_(checked_folder(options), kPrefix) {
  const std::vector<Source> sources = find_sources(dataset, source);
  for (const Source& file : sources) report_.bytes += file.bytes;
  report_.folder = scratch_.path();
  report_.filesystem = filesystem_of(report_.folder);
  report_.source_cached_fraction = cached_fraction(sources);
  const std::filesystem::path parent = report_.folder.parent_path();
  const auto free_bytes = static_cast<std::int64_t>(std::filesystem::space(parent).available);
  if (free_bytes < report_.bytes)
    fail(ErrorKind::io, "staging: '{}' has {} free, data set '{}' needs {}", parent.string(),
         format_bytes(free_bytes), dataset, format_bytes(report_.bytes));

  const double began = now_seconds();
  Progress bar(options.progress, "stage " + dataset, report_.bytes);
  std::int64_t done = 0;
  for (const Source& file : sources) {
    const std::string name = file.path.filename();
    const std::string sum = copy_file(file, report_.folder / name, [&](std::int64_t bytes) {
      bar.update(done += bytes);
      process::StopRequest::check();
    });
    want_sum(file, sum);
    report_.files.push_back({name, file.bytes, sum});
  }
  write_staging_manifest(dataset, source, report_);
  const double copied = now_seconds();
  verify_staged(report_.folder, report_.files);
  report_.seconds = now_seconds() - began;
  report_.verify_seconds = now_seconds() - copied;
  process::StopRequest::check();
}

void verify_staged(const std::filesystem::path& folder, const std::vector<CachedFile>& files) {
  for (const CachedFile& file : files) {
    const std::filesystem::path path = folder / file.name;
    std::error_code code;
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, code));
    if (code)
      fail(ErrorKind::io, "staging: '{}' was copied but cannot be read: {}", path.string(), code.message());
    if (bytes != file.bytes)
      fail(ErrorKind::io, "staging: '{}' has {} bytes after the copy, its source {}", path.string(), bytes,
           file.bytes);
    drop_from_page_cache(path);
    if (const std::string found = data::sha256_of_file(path); found != file.sha256)
      fail(ErrorKind::io, "staging: '{}' has SHA-256 {:.12}... after the copy, its source {:.12}...",
           path.string(), found, file.sha256);
  }
}

}  // namespace trainyard::data
