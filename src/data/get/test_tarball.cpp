#include "data/get/test_tarball.h"

#include <cstdio>

#include <zlib.h>

namespace trainyard::data {

std::filesystem::path write_tarball(const std::filesystem::path& path,
                                    const std::vector<std::pair<std::string, std::string>>& entries,
                                    std::size_t keep) {
  std::string archive;
  for (const auto& [name, content] : entries) {
    std::string header(512, '\0');
    const auto put = [&](std::ptrdiff_t offset, std::string_view text) {
      std::copy(text.begin(), text.end(), header.begin() + offset);
    };
    put(0, name);
    char size[16];
    std::snprintf(size, sizeof size, "%011zo", content.size());
    put(124, size);
    put(156, "0");
    put(257, "ustar");
    put(148, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(size, sizeof size, "%06o", sum);
    put(148, std::string(size, 6) + '\0');
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
