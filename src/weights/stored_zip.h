#pragma once

#include "base/standard.h"

namespace trainyard::weights {

struct ZipEntry {
  std::string name;
  std::span<const std::byte> content;  // of the file's bytes
};

// Returns the entries of a zip archive that are stored uncompressed, each verified by its CRC. Throws Error
// (config), beginning with '`who`', where the bytes are no such archive: damaged, compressed, encrypted or in
// several parts.
std::vector<ZipEntry> read_stored_zip(std::span<const std::byte> file, const std::string& who);

}  // namespace trainyard::weights
