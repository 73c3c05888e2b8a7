#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

// $XDG_CACHE_HOME/trainyard, or ~/.cache/trainyard.
std::filesystem::path default_cache_folder();

// Reads the whole file, or all that comes through a pipe; Error (config) names the path when it cannot, or
// when there are more than `most_bytes`.
std::vector<std::byte> read_file(const std::filesystem::path& path,
                                 std::size_t most_bytes = std::numeric_limits<std::size_t>::max());

// The one way in which files are written: an output appears under its name only when complete. It is written
// aside, synced and renamed; destroyed before commit(), it leaves nothing behind. A file that was there keeps
// its mode and, where we may, its owner. Of a symbolic link the target is replaced, not the link.
//
// What cannot be replaced is written through, as the bytes come: a device, a FIFO, a descriptor of this
// process (/dev/stdout, /dev/fd/3), a file that is a mount point.
//
// Errors are of kind io and name path and reason; a reader that left is one, not a signal.
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
  bool writes_through() const { return aside_.empty(); }

  const std::filesystem::path path_;      // as it was given
  std::filesystem::path target_, aside_;  // behind all links; empty: written through
  int descriptor_;
};

// Error (config) when an AtomicFile of this path could not be made now: for a command that works long before
// it writes. Leaves nothing behind, and opens neither a device nor a FIFO.
void check_output_file(const std::filesystem::path& path);

// The same of a folder that will be made where it is not there.
void check_output_folder(const std::filesystem::path& path);

// Makes a rename in `folder` durable.
void sync_folder(const std::filesystem::path& folder);

// create_directories with an Error (io) that says what failed.
void make_folders(const std::filesystem::path& folder);

}  // namespace trainyard
