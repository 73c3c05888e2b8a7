#pragma once

#include "study/folder.h"

namespace trainyard::study {

// Held by the one process that runs a study. Gone with its process, however that ends.
class StudyLock {
 public:
  // Error (usage) when another process holds it.
  explicit StudyLock(const Folder& folder);
  // Whether some process holds it now.
  static bool is_held(const Folder& folder);
  ~StudyLock();
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace trainyard::study
