#include "data/get/package.h"

#include <cerrno>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/get/gzip_file.h"
#include "process/run_to_end.h"

namespace trainyard::data {

namespace {

constexpr std::size_t kBlock = 512;

// Entry holds the fields of a ustar header that we read.
struct Entry {
  std::string name;
  std::int64_t bytes = 0;
  bool plain_file = false;
};

std::string field(const char* block, std::size_t offset, std::size_t length) {
  return {block + offset, strnlen(block + offset, length)};
}

std::int64_t octal(const std::string& text, const std::filesystem::path& tarball) {
  std::int64_t value = 0;
  for (const char digit : text) {
    if (digit == ' ') continue;
    if (digit < '0' || digit > '7') fail(ErrorKind::config, "'{}': not a tar archive", tarball.string());
    value = value * 8 + (digit - '0');
  }
  return value;
}

// Returns nothing at the end of the archive.
std::optional<Entry> read_header(GzipFile& file) {
  char block[kBlock];
  const std::size_t got = file.read(block, kBlock);
  if (got == 0 || (got == kBlock && block[0] == '\0')) return std::nullopt;
  if (got != kBlock) fail(ErrorKind::config, "'{}': the tar archive is cut short", file.path().string());
  const std::int64_t expected = octal(field(block, 148, 8), file.path());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  if (sum != expected)
    fail(ErrorKind::config, "'{}': a tar header has a wrong checksum", file.path().string());
  Entry entry;
  entry.name = field(block, 0, 100);
  if (field(block, 257, 5) == "ustar" && block[345] != '\0')
    entry.name = field(block, 345, 155) + "/" + entry.name;
  entry.bytes = octal(field(block, 124, 12), file.path());
  entry.plain_file = block[156] == '0' || block[156] == '\0';
  return entry;
}

}  // namespace

void unpack_tarball(const std::filesystem::path& tarball, const std::vector<std::string>& wanted,
                    const std::filesystem::path& folder, const std::function<void(std::int64_t)>& tick) {
  GzipFile file(tarball);
  std::vector<std::string> missing = wanted;
  std::vector<char> piece(std::size_t{1} << 18);  // a multiple of kBlock
  std::int64_t passed = 0;
  while (const std::optional<Entry> entry = read_header(file)) {
    const auto found = std::find(missing.begin(), missing.end(), entry->name);
    std::optional<AtomicFile> output;
    if (entry->plain_file && found != missing.end()) {
      output.emplace(folder / std::filesystem::path(entry->name).filename());
      missing.erase(found);
    }
    const std::int64_t padded = (entry->bytes + kBlock - 1) / kBlock * kBlock;
    for (std::int64_t offset = 0; offset < padded;) {
      const auto asked = static_cast<std::size_t>(std::min<std::int64_t>(padded - offset, std::ssize(piece)));
      if (file.read(piece.data(), asked) != asked)
        fail(ErrorKind::config, "'{}': the tar archive is cut short inside '{}'", tarball.string(),
             entry->name);
      const std::int64_t useful =
          std::min<std::int64_t>(entry->bytes - offset, static_cast<std::int64_t>(asked));
      if (output && useful > 0) output->write(piece.data(), static_cast<std::size_t>(useful));
      offset += static_cast<std::int64_t>(asked);
      passed += static_cast<std::int64_t>(asked);
      tick(passed);
    }
    if (output) output->commit();
  }
  if (!missing.empty())
    fail(ErrorKind::config, "'{}': no entry '{}' in the archive", tarball.string(), missing.front());
}

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
  Progress bar(options.progress, "fetch " + wanted, package.tarball_bytes);
  const process::ChildResult result = process::run_with_ticks(
      {"npm", "pack", wanted, "--pack-destination", packed.string(), "--cache", npm_cache.string(),
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
  Progress bar(options.progress, "unpack " + package.name, package.tarball_bytes);
  unpack_tarball(tarball, package.entries, destination, [&](std::int64_t passed) {
    options.check_interrupt();
    bar.update(passed);
  });
  std::filesystem::remove(tarball);
}

}  // namespace trainyard::data
