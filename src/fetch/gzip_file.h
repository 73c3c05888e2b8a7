#pragma once

#include <cstddef>
#include <filesystem>

struct gzFile_s;

namespace trainyard::fetch {

// Reads a file from front to back, gunzipping it when it is gzip and as it is otherwise.
// Errors name the file: config when it is missing or its gzip stream is broken.
class GzipFile {
 public:
  explicit GzipFile(std::filesystem::path path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  // Bytes read: fewer than asked only at the end of the file.
  std::size_t read(void* destination, std::size_t bytes);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  gzFile_s* file_;
};

}  // namespace trainyard::fetch
