#pragma once

// For tests only.

#include "base/crc32c.h"

namespace trainyard::predict {

// Makes a model file with this header, a correct checksum and some zeros behind it, so that a wrong checksum
// does not hide other damage.
inline std::string with_model_header(const std::string& header, std::size_t zeros) {
  const std::uint32_t version[] = {2, crc32c(header.data(), header.size())};
  const std::uint64_t bytes = header.size();
  std::string file = "TRAINYARD MODEL\n";
  file.append(reinterpret_cast<const char*>(version), sizeof version);
  file.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return file + header + std::string(zeros, '\0');
}

}  // namespace trainyard::predict
