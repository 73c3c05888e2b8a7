#include "data/get/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "base/error.h"
#include "base/file.h"

namespace trainyard::data {

namespace {

int open_folder(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// A sweeper may have removed the folder between our mkdir and our lock.
bool still_there(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

void sweep(const std::filesystem::path& parent, const std::string& prefix) {
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(parent, code)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    const int descriptor = open_folder(entry.path());
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(entry.path(), code);
    ::close(descriptor);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const std::filesystem::path& parent, const std::string& prefix) {
  make_folders(parent);
  sweep(parent, prefix);
  for (int attempt = 0; attempt < 10; ++attempt) {
    std::string name = (std::filesystem::absolute(parent) / prefix).string() + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      fail(ErrorKind::io, "cannot make a folder in '{}': {}", parent.string(), std::strerror(errno));
    path_ = name;
    lock_ = open_folder(path_);
    if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) == 0 && still_there(lock_)) return;
    if (lock_ >= 0) ::close(lock_);
  }
  fail(ErrorKind::io, "cannot lock a folder in '{}'", parent.string());
}

ScratchFolder::~ScratchFolder() {
  std::error_code code;
  std::filesystem::remove_all(path_, code);
  ::close(lock_);
}

std::filesystem::path ScratchFolder::make(const char* name) const {
  make_folders(path_ / name);
  return path_ / name;
}

void ScratchFolder::publish(const std::filesystem::path& ready, const std::filesystem::path& place) const {
  sync_folder(ready);
  ::chmod(ready.c_str(), 0755);
  if (::rename(ready.c_str(), place.c_str()) != 0) {
    // A folder that is not empty cannot be renamed over: swap, and let the old one go with the scratch
    // folder. File systems without the swap (EINVAL) leave a moment in which neither is in place.
    const bool swapped = ::renameat2(AT_FDCWD, ready.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0;
    if (!swapped && (::rename(place.c_str(), (path_ / "replaced").c_str()) != 0 ||
                     ::rename(ready.c_str(), place.c_str()) != 0))
      fail(ErrorKind::io, "cannot write '{}': {}", place.string(), std::strerror(errno));
  }
  sync_folder(place.parent_path());
}

}  // namespace trainyard::data
