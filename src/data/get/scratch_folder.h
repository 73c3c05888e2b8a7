#pragma once

#include "base/standard.h"

namespace trainyard::data {

// A ScratchFolder is a folder of one process, hidden if `prefix` begins with a dot. Removed by the
// destructor; what a killed process left is removed by the next ScratchFolder of the same prefix in the same
// place (a lock tells the dead from the living).
class ScratchFolder {
 public:
  ScratchFolder(const std::filesystem::path& parent, const std::string& prefix);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path make(const char* name) const;  // a folder inside

  // Moves the folder `ready`, which lies in here, to `place` in one step; what was at `place` goes away.
  void publish(const std::filesystem::path& ready, const std::filesystem::path& place) const;

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace trainyard::data
