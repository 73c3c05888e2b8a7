#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"

namespace trainyard {

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
