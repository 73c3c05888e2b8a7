#include "study/run/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "study/run/progress.h"
#include "study/spec/file_networks.h"
#include "study/spec/plan.h"

namespace trainyard::study {

void refuse_foreign(const Folder& folder) {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  const bool is_ours = fs::exists(folder.spec()) || fs::exists(folder.store());
  if (!is_ours && fs::exists(folder.path) && !fs::is_empty(folder.path, unreadable))
    fail(ErrorKind::usage, "'{}' is not empty and holds no study: another folder is wanted",
         folder.path.string());
}

StudyLock::StudyLock(const Folder& folder) {
  const std::filesystem::path file = folder.path / "lock";
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail(ErrorKind::io, "cannot open '{}': {}", file.string(), std::strerror(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {
    const std::string holder = fmt::format("{}\n", ::getpid());
    if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, holder.data(), holder.size(), 0) < 0) {
      // The number only helps to name the holder; the lock itself is taken.
    }
    return;
  }
  char holder[32] = {};
  [[maybe_unused]] const ssize_t got = ::pread(descriptor_, holder, sizeof holder - 1, 0);
  ::close(descriptor_);
  const std::string pid(holder, std::strcspn(holder, "\n"));
  fail(ErrorKind::usage, "another process ({}) runs the study in '{}'", pid, folder.path.string());
}

bool StudyLock::is_held(const Folder& folder) {
  const Descriptor file(::open((folder.path / "lock").c_str(), O_RDONLY | O_CLOEXEC));
  return file.number() >= 0 && ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

StudyLock::~StudyLock() { ::close(descriptor_); }

void make_store(const Folder& folder) {
  Spec spec = read_spec(folder.spec());
  if (std::filesystem::exists(folder.networks())) {
    const std::vector<std::byte> bytes = read_file(folder.networks());
    spec.networks = file_networks_from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  const StudyLock lock(folder);
  store::Store store(folder.store(), store::Store::Access::write);
  store.plan(spec.name, make_plan(spec, [](const record::Settings&) { return ""; }).runs);
  std::vector<std::string> complaints;  // `study collect` tells them
  ingest(folder, store, complaints);
}

}  // namespace trainyard::study
