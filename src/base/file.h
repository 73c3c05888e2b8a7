#pragma once

#include <unistd.h>

#include "base/standard.h"

namespace trainyard {

// Owns a file descriptor and closes it on destruction; a negative number means that there is none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;

  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

// $XDG_CACHE_HOME/trainyard, or ~/.cache/trainyard.
std::filesystem::path default_cache_folder();

// Reads the whole file, or all that comes through a pipe; Error (config) names the path when it cannot, or
// when there are more than `most_bytes`.
std::vector<std::byte> read_file(const std::filesystem::path& path,
                                 std::size_t most_bytes = std::numeric_limits<std::size_t>::max());

// Every output file is written through this class: it appears under its name only when complete. The class
// writes aside, syncs and renames; destroyed before commit(), it leaves nothing behind. A file that existed
// keeps its mode and, where the process has permission, its owner. A symbolic link stays; its target is
// replaced.
//
// The class writes straight through to paths that cannot be replaced: a device, a FIFO, a descriptor of this
// process (/dev/stdout, /dev/fd/3), a file that is a mount point.
//
// Errors are of kind io and name path and reason; a reader that closed its end causes an Error, not a signal.
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

// Throws an Error (config) when an AtomicFile of this path could not be made now, for a command that works
// long before it writes. The check leaves nothing behind, and opens neither a device nor a FIFO.
void check_output_file(const std::filesystem::path& path);

// Checks likewise a folder that will be created if it does not exist.
void check_output_folder(const std::filesystem::path& path);

// Makes a rename in `folder` durable.
void sync_folder(const std::filesystem::path& folder);

// Calls create_directories and throws an Error (io) that says what failed.
void make_folders(const std::filesystem::path& folder);

// A MappedFile is a whole file mapped for reading: its pages come from the page cache or the disk when they
// are touched. Error (config) when it cannot be read. A file that is cut short later ends the process
// (SIGBUS).
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
