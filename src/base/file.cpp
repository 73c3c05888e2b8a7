#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace trainyard {

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream || std::filesystem::is_directory(path))
    fail(ErrorKind::config, "cannot read '{}': {}", path.string(),
         std::filesystem::is_directory(path) ? "it is a folder" : std::strerror(errno));
  std::vector<std::byte> content(static_cast<std::size_t>(stream.tellg()));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!stream) fail(ErrorKind::io, "reading '{}' broke off", path.string());
  return content;
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  aside_ = path_;
  aside_ += ".part-" + std::to_string(getpid());
  descriptor_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail(ErrorKind::io, "cannot write '{}': {}", path_.string(), std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(aside_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, p, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(ErrorKind::io, "cannot write '{}': {}", path_.string(), std::strerror(errno));
    p += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  TRAINYARD_CHECK(descriptor_ >= 0);
  if (::fsync(descriptor_) != 0)
    fail(ErrorKind::io, "cannot write '{}': {}", path_.string(), std::strerror(errno));
  ::close(std::exchange(descriptor_, -1));
  if (::rename(aside_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(aside_.c_str());
    fail(ErrorKind::io, "cannot write '{}': {}", path_.string(), std::strerror(reason));
  }
  sync_folder(path_.parent_path());
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

}  // namespace trainyard
