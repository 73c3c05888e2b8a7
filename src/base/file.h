#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

// Reads the whole file; Error (config) names the path when it cannot.
std::vector<std::byte> read_file(const std::filesystem::path& path);

// A file that appears under its name only when complete: written aside, synced, renamed.
// Destroyed before commit(), it leaves nothing behind. Errors are of kind io and name path and reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  std::filesystem::path path_, aside_;
  int descriptor_;
};

// Makes a rename in `folder` durable.
void sync_folder(const std::filesystem::path& folder);

// create_directories with an Error (io) that says what failed.
void make_folders(const std::filesystem::path& folder);

}  // namespace trainyard
