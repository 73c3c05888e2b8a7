#pragma once

#include <cstdint>
#include <filesystem>

namespace trainyard {

// A whole file mapped for reading: its pages come from the page cache or the disk when they are touched.
// Error (config) when it cannot be read. A file that is cut short later ends the process (SIGBUS).
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  const std::uint8_t* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  // Returns the bytes of pages that lie in the page cache now; the query reads nothing. For files that this
  // user could not write, the kernel reports all pages.
  std::int64_t resident_bytes() const;

 private:
  const std::uint8_t* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace trainyard
