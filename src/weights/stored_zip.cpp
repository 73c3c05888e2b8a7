// The format is that of PKWARE's APPNOTE.TXT 6.3.9: the end of central directory record names the directory,
// whose headers name the local ones. Sizes are taken from the directory, because a streaming writer leaves
// those of local headers zero.

#include "weights/stored_zip.h"

#include "base/error.h"

namespace trainyard::weights {

namespace {

constexpr std::size_t kEndBytes = 22, kDirectoryBytes = 46, kLocalBytes = 30, kLongestComment = 0xFFFF;
constexpr std::uint32_t kEndMark = 0x06054b50, kDirectoryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr std::uint32_t kIn64Bits = 0xFFFFFFFF;

class Reader {
 public:
  Reader(std::span<const std::byte> file, const std::string& who) : file_(file), who_(who) {}

  // Reads a little-endian number; every access is bounds-checked.
  std::uint32_t number(std::size_t at, int bytes) const {
    const auto part = piece(at, static_cast<std::size_t>(bytes));
    std::uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; --i)
      value = value << 8 | std::to_integer<std::uint32_t>(part[static_cast<std::size_t>(i)]);
    return value;
  }
  std::string text(std::size_t at, std::size_t bytes) const {
    const auto part = piece(at, bytes);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::span<const std::byte> piece(std::size_t at, std::size_t bytes) const {
    if (at > file_.size() || bytes > file_.size() - at) refuse("is cut short");
    return file_.subspan(at, bytes);
  }
  std::size_t size() const { return file_.size(); }
  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::config, "'{}': {}; wants a zip archive of stored entries", who_, what);
  }

 private:
  std::span<const std::byte> file_;
  const std::string& who_;
};

// Computes the CRC-32 of zip (polynomial 0xEDB88320).
std::uint32_t zip_crc(std::span<const std::byte> bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320u : 0);
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte byte : bytes)
    crc = table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

// Finds the end record: its comment must reach exactly to the end of the file.
std::optional<std::size_t> find_end(const Reader& file) {
  if (file.size() < kEndBytes) return std::nullopt;
  const std::size_t last = file.size() - kEndBytes;
  for (std::size_t comment = 0; comment <= std::min(last, kLongestComment); ++comment)
    if (file.number(last - comment, 4) == kEndMark && file.number(last - comment + 20, 2) == comment)
      return last - comment;
  return std::nullopt;
}

ZipEntry read_entry(const Reader& file, std::size_t header) {
  const std::string name = file.text(header + kDirectoryBytes, file.number(header + 28, 2));
  const std::uint32_t flags = file.number(header + 8, 2), method = file.number(header + 10, 2),
                      crc = file.number(header + 16, 4), packed = file.number(header + 20, 4),
                      bytes = file.number(header + 24, 4), local = file.number(header + 42, 4);
  if ((flags & 1) != 0) file.refuse("entry '" + name + "' is encrypted");
  if (method != 0 || packed != bytes) file.refuse("entry '" + name + "' is compressed");
  if (bytes == kIn64Bits || local == kIn64Bits) file.refuse("entry '" + name + "' has sizes of 64 bits");
  if (file.number(local, 4) != kLocalMark) file.refuse("entry '" + name + "' has no local header");
  const std::size_t name_bytes = file.number(local + 26, 2);
  if (file.text(local + kLocalBytes, name_bytes) != name)
    file.refuse("entry '" + name + "' has another name in its local header");
  const auto content = file.piece(local + kLocalBytes + name_bytes + file.number(local + 28, 2), bytes);
  if (zip_crc(content) != crc) file.refuse("entry '" + name + "' is damaged: checksum mismatch");
  return {name, content};
}

}  // namespace

std::vector<ZipEntry> read_stored_zip(std::span<const std::byte> bytes, const std::string& who) {
  const Reader file(bytes, who);
  const std::optional<std::size_t> end = find_end(file);
  if (!end) file.refuse("has no end of a directory");
  const std::uint32_t count = file.number(*end + 10, 2);
  if (file.number(*end + 4, 2) != 0 || file.number(*end + 6, 2) != 0 || file.number(*end + 8, 2) != count)
    file.refuse("is one part of several");
  std::size_t header = file.number(*end + 16, 4);
  std::vector<ZipEntry> entries;
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (file.number(header, 4) != kDirectoryMark) file.refuse("has a damaged directory");
    entries.push_back(read_entry(file, header));
    total += entries.back().content.size();
    // Overlapping entries would let a small file cause much work.
    if (total > file.size()) file.refuse("has entries that overlap");
    header += kDirectoryBytes + file.number(header + 28, 2) + file.number(header + 30, 2) +
              file.number(header + 32, 2);
  }
  return entries;
}

}  // namespace trainyard::weights
