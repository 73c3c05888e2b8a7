#include "data/view/verified_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "base/threads.h"
#include "data/get/gzip_file.h"
#include "process/stop_request.h"

namespace trainyard::data {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

using Piece = std::vector<char>;  // a thread's own; empty until it reads

// Calls `work` with the number of each file, from as many threads as network file systems answer well.
void for_each_file(std::size_t files, const std::function<void(std::size_t file, Piece& piece)>& work) {
  constexpr std::size_t kThreads = 8;
  std::atomic<std::size_t> next{0};
  FirstError failure;
  const auto loop = [&] {
    try {
      Piece piece;
      for (std::size_t file = next++; file < files; file = next++) {
        process::StopRequest::check();
        work(file, piece);
      }
    } catch (...) {
      failure.keep_current();
      next = files;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t thread = 1; thread < std::min(kThreads, files); ++thread) others.emplace_back(loop);
    loop();
  }
  failure.rethrow();
}

// Sums the bytes of all threads. A thread that finds another one telling leaves it to that one.
class Tally {
 public:
  explicit Tally(const BytesDone& done) : done_(done) {}

  void add(std::int64_t bytes) {
    sum_ += bytes;
    if (telling_.test_and_set()) return;
    done_(sum_);
    telling_.clear();
  }

 private:
  const BytesDone& done_;
  std::atomic<std::int64_t> sum_{0};
  std::atomic_flag telling_;
};

bool is_as_it_was(const SourceFile& file, const struct stat& now) {
  return now.st_size == file.bytes && now.st_ino == file.inode && now.st_mtim.tv_sec == file.written.tv_sec &&
         now.st_mtim.tv_nsec == file.written.tv_nsec;
}

void want_as_it_was(const Descriptor& source, const SourceFile& file) {
  struct stat now {};
  if (source.number() < 0 || ::fstat(source.number(), &now) != 0)
    fail(ErrorKind::io, "staging: '{}' can no longer be read: {}", file.path.string(), std::strerror(errno));
  if (!is_as_it_was(file, now))
    fail(ErrorKind::io, "staging: '{}' changed while the data set was copied", file.path.string());
}

// Returns how many bytes came, fewer than a piece at the end alone.
std::size_t read_piece(const Descriptor& file, const std::filesystem::path& path, Piece& piece) {
  piece.resize(kPieceBytes);
  std::size_t filled = 0;
  while (filled < piece.size()) {
    const ssize_t got = ::read(file.number(), piece.data() + filled, piece.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorKind::io, "staging: cannot read '{}': {}", path.string(), std::strerror(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

[[noreturn]] void cannot_write_copy(const std::filesystem::path& path) {
  fail(ErrorKind::io, "staging: cannot write '{}': {}", path.string(), std::strerror(errno));
}

void write_piece(const Descriptor& file, const std::filesystem::path& path, const char* data,
                 std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::write(file.number(), data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot_write_copy(path);
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

struct Copied {
  std::string sha256;
  std::int64_t cached_bytes = 0;
};

Copied copy_file(const SourceFile& source, const std::filesystem::path& path, Piece& piece, Tally& tally) {
  const Descriptor from(::open(source.path.c_str(), O_RDONLY | O_CLOEXEC));
  want_as_it_was(from, source);
  const Descriptor to(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (to.number() < 0) cannot_write_copy(path);
  const std::int64_t cached = MappedFile(source.path).resident_bytes();
  Sha256 sum;
  std::int64_t copied = 0;
  for (std::size_t bytes = kPieceBytes; bytes == kPieceBytes;) {
    bytes = read_piece(from, source.path, piece);
    sum.update(piece.data(), bytes);
    write_piece(to, path, piece.data(), bytes);
    copied += static_cast<std::int64_t>(bytes);
    tally.add(static_cast<std::int64_t>(bytes));
    process::StopRequest::check();
  }
  want_as_it_was(from, source);
  if (copied != source.bytes)
    fail(ErrorKind::io, "staging: {} bytes read of '{}', which has {}", copied, source.path.string(),
         source.bytes);
  // The disk begins to write while other files are copied; verify_copies waits for it.
  ::sync_file_range(to.number(), 0, 0, SYNC_FILE_RANGE_WRITE);
  return {sum.hex(), cached};
}

void want_sum(const SourceFile& source, const std::string& found) {
  if (!source.sha256.empty() && source.sha256 != found)
    fail(ErrorKind::config,
         "staging: '{}' is damaged: SHA-256 {:.12}... found, {:.12}... in its manifest; get the data set "
         "again",
         source.path.string(), found, source.sha256);
}

// Has the data written to the disk and dropped from the page cache, so that reading it back asks the disk. A
// copy does not outlive its run, so nothing waits for the journal, as fsync does for milliseconds a file.
void write_out(const Descriptor& file, const std::filesystem::path& path) {
  constexpr unsigned kAll = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const bool written = ::sync_file_range(file.number(), 0, 0, kAll) == 0 ||
                       ((errno == ENOSYS || errno == EINVAL) && ::fdatasync(file.number()) == 0);
  if (!written) cannot_write_copy(path);
  ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
}

void verify_copy(const CachedFile& file, const std::filesystem::path& path, Piece& piece, Tally& tally) {
  const Descriptor copy(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (copy.number() < 0 || ::fstat(copy.number(), &status) != 0)
    fail(ErrorKind::io, "staging: '{}' was copied but cannot be read: {}", path.string(),
         std::strerror(errno));
  if (status.st_size != file.bytes)
    fail(ErrorKind::io, "staging: '{}' has {} bytes after the copy, its source {}", path.string(),
         status.st_size, file.bytes);
  write_out(copy, path);
  Sha256 sum;
  for (std::size_t bytes = kPieceBytes; bytes == kPieceBytes;) {
    bytes = read_piece(copy, path, piece);
    sum.update(piece.data(), bytes);
    tally.add(static_cast<std::int64_t>(bytes));
    process::StopRequest::check();
  }
  if (const std::string found = sum.hex(); found != file.sha256)
    fail(ErrorKind::io, "staging: '{}' has SHA-256 {:.12}... after the copy, its source {:.12}...",
         path.string(), found, file.sha256);
}

}  // namespace

void look_at_files(std::vector<SourceFile>& files) {
  for_each_file(files.size(), [&](std::size_t number, Piece&) {
    SourceFile& file = files[number];
    struct stat status {};
    if (::stat(file.path.c_str(), &status) != 0)
      fail(ErrorKind::config, "staging: '{}': {}", file.path.string(), std::strerror(errno));
    if (!S_ISREG(status.st_mode))
      fail(ErrorKind::config, "staging: '{}' is not a plain file", file.path.string());
    file.bytes = status.st_size;
    file.inode = status.st_ino;
    file.written = status.st_mtim;
  });
}

Copies copy_files(const std::vector<SourceFile>& files, const std::filesystem::path& folder,
                  const BytesDone& done) {
  Copies copies;
  copies.files.resize(files.size());
  std::filesystem::path made;
  for (const SourceFile& file : files)
    if (const std::filesystem::path wanted = (folder / file.name).parent_path(); wanted != made)
      make_folders(made = wanted);
  Tally tally(done);
  std::atomic<std::int64_t> cached{0};
  for_each_file(files.size(), [&](std::size_t number, Piece& piece) {
    const SourceFile& file = files[number];
    const Copied copied = copy_file(file, folder / file.name, piece, tally);
    want_sum(file, copied.sha256);
    cached += copied.cached_bytes;
    copies.files[number] = {file.name, file.bytes, copied.sha256};
  });
  copies.cached_bytes = cached;
  return copies;
}

void verify_copies(const std::filesystem::path& folder, const std::vector<CachedFile>& files,
                   const BytesDone& done) {
  Tally tally(done);
  for_each_file(files.size(), [&](std::size_t number, Piece& piece) {
    verify_copy(files[number], folder / files[number].name, piece, tally);
  });
}

}  // namespace trainyard::data
