#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace trainyard::predict {

struct ZipEntry {
  std::string name;
  std::span<const std::byte> content;  // of the file's bytes
};

// Entries of a zip archive that are stored as they are, each verified by its CRC. Error (config) begins with
// '`who`' where the bytes are no such archive: damaged, compressed, encrypted, in several parts or of the
// 64-bit kind.
std::vector<ZipEntry> read_stored_zip(std::span<const std::byte> file, const std::string& who);

}  // namespace trainyard::predict
