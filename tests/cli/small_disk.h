#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace trainyard::cli_test {

// A file system in memory with little room, gone with the test. Mounting one takes privileges: see error().
class SmallDisk {
 public:
  // `limits` as mount takes them for tmpfs: "size=16m".
  SmallDisk(const std::filesystem::path& folder, const std::string& limits) : folder_(folder) {
    std::filesystem::create_directories(folder);
    error_ = ::mount("tmpfs", folder.c_str(), "tmpfs", 0, limits.c_str()) == 0 ? 0 : errno;
  }
  ~SmallDisk() {
    if (error_ == 0) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  int error() const { return error_; }

 private:
  std::filesystem::path folder_;
  int error_ = 0;
};

}  // namespace trainyard::cli_test
