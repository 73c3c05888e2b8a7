#pragma once

#include "base/standard.h"

// For the unit tests of this folder only.

namespace trainyard::data {

// Writes a gzipped ustar archive; `keep` cuts the archive (not the gzip stream) off after that many bytes.
std::filesystem::path write_tarball(const std::filesystem::path& path,
                                    const std::vector<std::pair<std::string, std::string>>& entries,
                                    std::size_t keep = std::string::npos);

}  // namespace trainyard::data
