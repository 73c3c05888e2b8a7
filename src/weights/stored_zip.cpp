// The format is that of PKWARE's APPNOTE.TXT 6.3.9: the end of central directory record names the directory,
// whose headers name the local ones. Sizes are taken from the directory, because a streaming writer leaves
// those of local headers zero. Beyond 4 GiB a number is all ones there and lies behind: of the archive in a
// record before the end record, of an entry in an extra field of its header.

#include "weights/stored_zip.h"

#include "base/error.h"

namespace trainyard::weights {

namespace {

constexpr std::size_t kEndBytes = 22, kDirectoryBytes = 46, kLocalBytes = 30, kLongestComment = 0xFFFF;
constexpr std::uint32_t kEndMark = 0x06054b50, kDirectoryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr std::size_t kLocatorBytes = 20, kWideEndBytes = 56;
constexpr std::uint32_t kLocatorMark = 0x07064b50, kWideEndMark = 0x06064b50;
constexpr std::uint64_t kElsewhere = 0xFFFFFFFF, kCountElsewhere = 0xFFFF;
constexpr std::uint64_t kWideField = 1;  // the extra field with numbers of 64 bits

class Reader {
 public:
  Reader(std::span<const std::byte> file, const std::string& who) : file_(file), who_(who) {}

  // Reads a little-endian number; every access is bounds-checked.
  std::uint64_t number(std::size_t at, int bytes) const {
    const auto part = piece(at, static_cast<std::size_t>(bytes));
    std::uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i)
      value = value << 8 | std::to_integer<std::uint64_t>(part[static_cast<std::size_t>(i)]);
    return value;
  }
  // Reads a place in the file, so that sums of it and of lengths of 16 bits stay numbers.
  std::size_t checked_place(std::uint64_t place) const {
    if (place > file_.size()) refuse("is cut short");
    return place;
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

struct Sizes {
  std::uint64_t bytes, packed, local;
};

// The extra field has those of the numbers that are elsewhere, in this order.
void read_wide(const Reader& file, std::size_t header, Sizes& sizes) {
  std::size_t at = header + kDirectoryBytes + file.number(header + 28, 2);
  const std::size_t end = at + file.number(header + 30, 2);
  while (at + 4 <= end && file.number(at, 2) != kWideField) at += 4 + file.number(at + 2, 2);
  const std::size_t field_end =
      at + 4 <= end ? std::min<std::size_t>(end, at + 4 + file.number(at + 2, 2)) : at;
  at += 4;
  for (std::uint64_t* number : {&sizes.bytes, &sizes.packed, &sizes.local}) {
    if (*number != kElsewhere) continue;
    if (at + 8 > field_end) file.refuse("has an entry without the size that it announces");
    *number = file.number(at, 8);
    at += 8;
  }
}

ZipEntry read_entry(const Reader& file, std::size_t header) {
  const std::string name = file.text(header + kDirectoryBytes, file.number(header + 28, 2));
  const std::uint64_t flags = file.number(header + 8, 2), method = file.number(header + 10, 2),
                      crc = file.number(header + 16, 4);
  Sizes sizes{file.number(header + 24, 4), file.number(header + 20, 4), file.number(header + 42, 4)};
  read_wide(file, header, sizes);
  if ((flags & 1) != 0) file.refuse("entry '" + name + "' is encrypted");
  if (method != 0 || sizes.packed != sizes.bytes) file.refuse("entry '" + name + "' is compressed");
  const std::size_t local = file.checked_place(sizes.local);
  if (file.number(local, 4) != kLocalMark) file.refuse("entry '" + name + "' has no local header");
  const std::size_t name_bytes = file.number(local + 26, 2);
  if (file.text(local + kLocalBytes, name_bytes) != name)
    file.refuse("entry '" + name + "' has another name in its local header");
  const auto content = file.piece(local + kLocalBytes + name_bytes + file.number(local + 28, 2), sizes.bytes);
  if (zip_crc(content) != crc) file.refuse("entry '" + name + "' is damaged: checksum mismatch");
  return {name, content};
}

struct Directory {
  std::uint64_t entries = 0, first = 0;
};

Directory read_wide_end(const Reader& file, std::size_t end) {
  if (end < kLocatorBytes || file.number(end - kLocatorBytes, 4) != kLocatorMark)
    file.refuse("has no end of a directory of 64 bits");
  const std::size_t at = file.checked_place(file.number(end - kLocatorBytes + 8, 8));
  if (file.number(at, 4) != kWideEndMark) file.refuse("has no end of a directory of 64 bits");
  file.piece(at, kWideEndBytes);
  if (file.number(at + 16, 4) != 0 || file.number(at + 20, 4) != 0 ||
      file.number(at + 24, 8) != file.number(at + 32, 8))
    file.refuse("is one part of several");
  return {file.number(at + 32, 8), file.number(at + 48, 8)};
}

Directory read_end(const Reader& file, std::size_t end) {
  const Directory directory{file.number(end + 10, 2), file.number(end + 16, 4)};
  if (directory.entries == kCountElsewhere || directory.first == kElsewhere) return read_wide_end(file, end);
  if (file.number(end + 4, 2) != 0 || file.number(end + 6, 2) != 0 ||
      file.number(end + 8, 2) != directory.entries)
    file.refuse("is one part of several");
  return directory;
}

}  // namespace

std::vector<ZipEntry> read_stored_zip(std::span<const std::byte> bytes, const std::string& who) {
  const Reader file(bytes, who);
  const std::optional<std::size_t> end = find_end(file);
  if (!end) file.refuse("has no end of a directory");
  const Directory directory = read_end(file, *end);
  std::size_t header = file.checked_place(directory.first);
  std::vector<ZipEntry> entries;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
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
