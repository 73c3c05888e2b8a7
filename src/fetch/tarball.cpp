#include "fetch/tarball.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "fetch/gzip_file.h"

namespace trainyard::fetch {
namespace {

constexpr std::size_t kBlock = 512;

// The fields of a ustar header that we read.
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

// Empty at the end of the archive.
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

}  // namespace trainyard::fetch
