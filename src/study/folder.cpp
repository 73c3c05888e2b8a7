#include "study/folder.h"

#include "base/error.h"

namespace trainyard::study {

void refuse_foreign(const Folder& folder) {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  const bool is_ours = fs::exists(folder.spec()) || fs::exists(folder.store());
  if (!is_ours && fs::exists(folder.path) && !fs::is_empty(folder.path, unreadable))
    fail(ErrorKind::usage, "'{}' is not empty and holds no study: another folder is wanted",
         folder.path.string());
}

}  // namespace trainyard::study
