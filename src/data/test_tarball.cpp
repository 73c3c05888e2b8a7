#include "data/test_tarball.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>

namespace trainyard::data {

std::filesystem::path write_tarball(const std::filesystem::path& path,
                                    const std::vector<std::pair<std::string, std::string>>& entries,
                                    std::size_t keep) {
  std::string archive;
  for (const auto& [name, content] : entries) {
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    char size[16];
    std::snprintf(size, sizeof size, "%011zo", content.size());
    header.replace(124, 11, size);
    header[156] = '0';
    header.replace(257, 5, "ustar");
    header.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(size, sizeof size, "%06o", sum);
    header.replace(148, 7, std::string(size, 6) + '\0');
    archive += header + content;
    archive.resize((archive.size() + 511) / 512 * 512, '\0');
  }
  archive.resize(archive.size() + 1024, '\0');
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, archive.data(), static_cast<unsigned>(std::min(keep, archive.size())));
  gzclose(file);
  return path;
}

}  // namespace trainyard::data
