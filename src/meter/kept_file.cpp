#include "meter/kept_file.h"

#include <fcntl.h>
#include <unistd.h>

namespace trainyard::meter {

KeptFile::KeptFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

KeptFile::~KeptFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string_view KeptFile::read(std::span<char> buffer) const {
  const ssize_t bytes = descriptor_ < 0 ? -1 : ::pread(descriptor_, buffer.data(), buffer.size(), 0);
  return bytes <= 0 ? std::string_view() : std::string_view(buffer.data(), static_cast<std::size_t>(bytes));
}

}  // namespace trainyard::meter
