#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "base/error.h"

namespace trainyard {

std::filesystem::path default_cache_folder() {
  // The XDG specification: a relative path there is invalid and to be ignored.
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && xdg[0] == '/') return std::filesystem::path(xdg) / "trainyard";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] == '\0')
    fail(ErrorKind::config, "no cache folder: neither XDG_CACHE_HOME nor HOME is set; give {} DIR",
         Setting{"cache"});
  return std::filesystem::path(home) / ".cache" / "trainyard";
}

std::vector<std::byte> read_file(const std::filesystem::path& path, std::size_t most_bytes) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path))
    fail(ErrorKind::config, "cannot read '{}': {}", path.string(),
         std::filesystem::is_directory(path) ? "it is a folder" : std::strerror(errno));
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  std::error_code unknown;  // a pipe has no size
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  // The buffer has one byte more than the file, so that the first read sees the end.
  std::size_t wanted =
      unknown ? kChunk : static_cast<std::size_t>(std::min<std::uintmax_t>(size, most_bytes)) + 1;
  std::vector<std::byte> content;
  while (stream) {
    const std::size_t before = content.size();
    content.resize(before + std::max(wanted, kChunk));
    stream.read(reinterpret_cast<char*>(content.data() + before),
                static_cast<std::streamsize>(content.size() - before));
    content.resize(before + static_cast<std::size_t>(stream.gcount()));
    if (content.size() > most_bytes)
      fail(ErrorKind::config, "'{}': more than {} bytes", path.string(), most_bytes);
    wanted = kChunk;
  }
  if (stream.bad()) fail(ErrorKind::io, "reading '{}' broke off", path.string());
  return content;
}

namespace {

constexpr int kMostLinks = 40;  // as the kernel follows

// An output target is the place that receives the bytes written to a path.
struct OutputTarget {
  std::filesystem::path path;  // behind all links
  int descriptor = -1;         // of this process, which the path names
  bool is_there = false;       // as a file that can be replaced
  bool through = false;        // opened as it is
  struct stat former {};       // where it is there
};

[[noreturn]] void cannot_write(ErrorKind kind, const std::filesystem::path& path, const std::string& reason) {
  fail(kind, "cannot write '{}': {}", path.string(), reason);
}

// Returns N of /dev/fd/N, however it is spelt; -1 when the path names no descriptor of this process.
int named_descriptor(const std::filesystem::path& path) {
  std::error_code code;
  const std::filesystem::path folder = std::filesystem::canonical(path.parent_path(), code);
  if (code || folder != "/proc/" + std::to_string(::getpid()) + "/fd") return -1;
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : -1;
}

// A mount point cannot be renamed over, and containers mount single files.
bool is_mount_point(const std::filesystem::path& path) {
  struct statx found {};
  return ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &found) == 0 &&
         (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

OutputTarget find_target(const std::filesystem::path& path, ErrorKind kind) {
  OutputTarget target{.path = path};
  for (int links = 0; links <= kMostLinks; ++links) {
    target.descriptor = named_descriptor(target.path);
    if (target.descriptor >= 0) return target;
    struct stat found {};
    if (::stat(target.path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
      if (S_ISDIR(found.st_mode)) cannot_write(kind, path, "it is a folder");
      target.through = true;
      return target;
    }
    if (::lstat(target.path.c_str(), &found) != 0) return target;  // to be made, or open() says why not
    if (!S_ISLNK(found.st_mode)) {
      target.is_there = true;
      target.former = found;
      target.through = is_mount_point(target.path);
      return target;
    }
    std::error_code code;
    const std::filesystem::path next = std::filesystem::read_symlink(target.path, code);
    if (code) cannot_write(kind, path, code.message());
    target.path = target.path.parent_path() / next;  // `next` alone where it begins at the root
  }
  cannot_write(kind, path, std::strerror(ELOOP));
}

// The new file keeps owner and mode of the former one, as far as this process may set them.
void keep_owner_and_mode(int descriptor, const struct stat& former) {
  if (former.st_uid != ::geteuid() || former.st_gid != ::getegid()) [[maybe_unused]]
    const int ignored = ::fchown(descriptor, former.st_uid, former.st_gid);
  ::fchmod(descriptor, former.st_mode & 07777);
}

// While this object lives, a pipe without a reader gives this thread an error instead of a signal that ends
// the process.
class BrokenPipeAsError {
 public:
  BrokenPipeAsError() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &former_);
  }
  ~BrokenPipeAsError() {
    const timespec now{};
    while (::sigtimedwait(&signals_, nullptr, &now) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &former_, nullptr);
  }

 private:
  sigset_t signals_, former_;
};

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  const OutputTarget target = find_target(path_, ErrorKind::io);
  target_ = target.path;
  if (target.descriptor >= 0) {
    std::fflush(stdout);  // what was printed before comes before, if it is that
    descriptor_ = ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0);
  } else if (target.through) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | (target.is_there ? O_TRUNC : 0));
  } else if (target.is_there && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) {
    descriptor_ = -1;  // a file that must not be written is not replaced either
  } else {
    aside_ = target_;
    aside_ += ".part-" + std::to_string(::getpid());
    descriptor_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  }
  if (descriptor_ < 0) {
    const int reason = errno;
    const std::filesystem::path folder = target_.parent_path();
    std::error_code ignored;
    cannot_write(ErrorKind::io, path_,
                 reason == ENOENT && !folder.empty() && !std::filesystem::exists(folder, ignored)
                     ? fmt::format("there is no folder '{}'", folder.string())
                     : std::strerror(reason));
  }
  if (target.is_there && !writes_through()) keep_owner_and_mode(descriptor_, target.former);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!writes_through()) ::unlink(aside_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  std::optional<BrokenPipeAsError> guard;
  if (writes_through()) guard.emplace();
  const auto* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, p, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot_write(ErrorKind::io, path_, std::strerror(errno));
    p += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  TRAINYARD_CHECK(descriptor_ >= 0);
  // Pipes and devices have nothing to sync.
  if (::fsync(descriptor_) != 0 && !(writes_through() && (errno == EINVAL || errno == ENOTSUP)))
    cannot_write(ErrorKind::io, path_, std::strerror(errno));
  if (::close(std::exchange(descriptor_, -1)) != 0 && writes_through())
    cannot_write(ErrorKind::io, path_, std::strerror(errno));
  if (writes_through()) return;
  if (::rename(aside_.c_str(), target_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(aside_.c_str());
    cannot_write(ErrorKind::io, path_, std::strerror(reason));
  }
  sync_folder(target_.parent_path());
}

void check_output_file(const std::filesystem::path& path) {
  const OutputTarget target = find_target(path, ErrorKind::config);
  if (target.descriptor >= 0) {
    const int flags = ::fcntl(target.descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
      cannot_write(ErrorKind::config, path, "no descriptor of that number is open for writing");
  } else if (target.through) {
    if (std::filesystem::is_socket(target.path)) cannot_write(ErrorKind::config, path, "it is a socket");
    if (::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0)
      cannot_write(ErrorKind::config, path, std::strerror(errno));
  } else {
    try {
      const AtomicFile would_be(path);
    } catch (const Error& error) {
      throw Error(ErrorKind::config, error.what());
    }
  }
}

void check_output_folder(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code code;
  // The folder will be made in its nearest ancestor that exists.
  fs::path there = fs::absolute(path).lexically_normal();
  while (!fs::exists(fs::symlink_status(there, code)) && there.has_relative_path())
    there = there.parent_path();
  if (!fs::is_directory(there, code))
    fail(ErrorKind::config, "cannot make folder '{}': '{}' is no folder", path.string(), there.string());
  try {
    const AtomicFile would_be(there / ".trainyard-writes-here");
  } catch (const Error& error) {
    fail(ErrorKind::config, "cannot write into folder '{}': {}", path.string(),
         std::string_view(error.what()).substr(std::string_view(error.what()).rfind(": ") + 2));
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // the content itself is already durable
  ::fsync(descriptor);
  ::close(descriptor);
}

void make_folders(const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) fail(ErrorKind::io, "cannot make folder '{}': {}", folder.string(), code.message());
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  const auto refuse = [&](int reason) {
    if (descriptor >= 0) ::close(descriptor);
    fail(ErrorKind::config, "cannot map '{}': {}", path.string(), std::strerror(reason));
  };
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) refuse(errno);
  bytes_ = status.st_size;
  if (bytes_ > 0) {
    void* memory = ::mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_READ, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) refuse(errno);
    data_ = static_cast<const std::uint8_t*>(memory);
  }
  ::close(descriptor);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), static_cast<std::size_t>(bytes_));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

std::int64_t MappedFile::resident_bytes() const {
  if (data_ == nullptr) return 0;
  const std::int64_t page = ::sysconf(_SC_PAGESIZE), pages = (bytes_ + page - 1) / page;
  std::vector<unsigned char> resident(static_cast<std::size_t>(pages));
  if (::mincore(const_cast<std::uint8_t*>(data_), static_cast<std::size_t>(bytes_), resident.data()) != 0)
    fail(ErrorKind::io, "mincore: {}", std::strerror(errno));
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < pages; ++i)
    if (resident[static_cast<std::size_t>(i)] & 1) found += std::min(page, bytes_ - i * page);
  return found;
}

}  // namespace trainyard
