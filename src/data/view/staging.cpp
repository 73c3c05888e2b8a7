#include "data/view/staging.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "data/get/gzip_file.h"
#include "data/view/verified_copy.h"

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

// The name that the copy of a folder or of a file has, as the messages about it say it.
std::string name_of_root(const std::filesystem::path& root) {
  const std::filesystem::path whole = std::filesystem::absolute(root).lexically_normal();
  const std::filesystem::path name = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  return name.empty() ? "data" : name.string();
}

std::vector<SourceFile> find_sources(const std::string& dataset, const DatasetFiles& source) {
  const std::optional<CacheEntry> manifest = find_manifest(source.root, dataset);
  std::vector<SourceFile> files(source.files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].path = source.files[i];
    const bool is_root = source.files[i] == source.root;
    files[i].name =
        is_root ? name_of_root(source.root) : source.files[i].lexically_relative(source.root).string();
    if (!manifest) continue;
    for (const CachedFile& file : manifest->files)
      if (file.name == files[i].path.filename()) files[i].sha256 = file.sha256;
  }
  look_at_files(files);
  return files;
}

// Files take whole blocks, which is what decides for many small ones.
void want_room(const std::filesystem::path& folder, const std::string& dataset,
               const std::vector<SourceFile>& files) {
  struct statvfs room {};
  if (::statvfs(folder.c_str(), &room) != 0)
    fail(ErrorKind::io, "staging: '{}': {}", folder.string(), std::strerror(errno));
  const auto block = static_cast<std::int64_t>(std::max<unsigned long>(room.f_frsize, 1)),
             free_bytes = static_cast<std::int64_t>(room.f_bavail) * block,
             free_files = static_cast<std::int64_t>(room.f_favail);
  std::int64_t bytes = 0;
  std::set<std::filesystem::path> folders;
  for (const SourceFile& file : files) {
    bytes += (file.bytes + block - 1) / block * block;
    folders.insert(std::filesystem::path(file.name).parent_path());
  }
  if (free_bytes < bytes)
    fail(ErrorKind::io, "staging: '{}' has {} free, data set '{}' needs {}", folder.string(),
         format_bytes(free_bytes), dataset, format_bytes(bytes));
  const std::int64_t wanted = std::ssize(files) + std::ssize(folders) + 2;  // `data` and the manifest
  const bool counts_files = room.f_files > 0;
  if (counts_files && free_files < wanted)
    fail(ErrorKind::io, "staging: '{}' has room for {} more files, data set '{}' needs {}", folder.string(),
         free_files, dataset, wanted);
}

void write_staging_manifest(const std::string& dataset, const std::filesystem::path& source,
                            const StagingReport& report) {
  Json json{{"schema", 1},
            {"name", dataset},
            {"source", fmt::format("{} {}", std::filesystem::is_directory(source) ? "folder" : "file",
                                   std::filesystem::absolute(source).string())},
            {"files", Json::array()}};
  for (const CachedFile& file : report.files)
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  AtomicFile file(report.folder / "manifest.json");
  file.write(json_text(json, 1) + "\n");
  file.commit();
}

std::int64_t sum_of_bytes(const std::vector<SourceFile>& files) {
  std::int64_t bytes = 0;
  for (const SourceFile& file : files) bytes += file.bytes;
  return bytes;
}

}  // namespace

std::string StagingReport::sum_of_sums() const {
  std::vector<CachedFile> sorted = files;
  std::sort(sorted.begin(), sorted.end(),
            [](const CachedFile& one, const CachedFile& other) { return one.name < other.name; });
  Sha256 sum;
  for (const CachedFile& file : sorted) {
    const std::string line = fmt::format("{}  {}\n", file.sha256, file.name);
    sum.update(line.data(), line.size());
  }
  return sum.hex();
}

StagedFiles::StagedFiles(const std::string& dataset, const DatasetFiles& source,
                         const StagingOptions& options)
    : scratch_(checked_folder(options), kPrefix) {
  const std::vector<SourceFile> sources = find_sources(dataset, source);
  const std::filesystem::path parent = scratch_.path().parent_path();
  want_room(parent, dataset, sources);
  root_ = scratch_.path() / "data" / name_of_root(source.root);
  const bool is_file = source.files.size() == 1 && source.files.front() == source.root;
  const std::filesystem::path folder = is_file ? root_.parent_path() : root_;
  report_.folder = scratch_.path();
  report_.filesystem = filesystem_of(parent);
  report_.bytes = sum_of_bytes(sources);

  const double began = now_seconds();
  {
    Progress bar(options.progress, "stage " + dataset, report_.bytes);
    Copies copies = copy_files(sources, folder, [&](std::int64_t done) { bar.update(done); });
    report_.files = std::move(copies.files);
    report_.source_cached_fraction = static_cast<double>(copies.cached_bytes) /
                                     static_cast<double>(std::max<std::int64_t>(report_.bytes, 1));
  }
  write_staging_manifest(dataset, source.root, report_);
  const double copied = now_seconds();
  {
    Progress bar(options.progress, "verify " + dataset, report_.bytes);
    verify_copies(folder, report_.files, [&](std::int64_t done) { bar.update(done); });
  }
  report_.seconds = now_seconds() - began;
  report_.verify_seconds = now_seconds() - copied;
}

}  // namespace trainyard::data
