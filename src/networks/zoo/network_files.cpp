#include "networks/zoo/network_files.h"

#include "base/mutex.h"

namespace trainyard::networks {
namespace {

class NetworkFiles {
 public:
  void set_reader(const char* end, ReadNetworkFile read) {
    const MutexLock lock(mutex_);
    end_ = end;
    read_ = read;
  }

  bool has_end(std::string_view name) {
    const MutexLock lock(mutex_);
    return read_ != nullptr && name.ends_with(end_);
  }

  std::shared_ptr<const NetworkFile> find(std::string_view name) {
    if (!has_end(name)) return nullptr;
    const MutexLock lock(mutex_);
    const std::string key(name);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    return known_[key] = read_(key);
  }

 private:
  Mutex mutex_;
  std::string end_ TRAINYARD_GUARDED_BY(mutex_);
  ReadNetworkFile read_ TRAINYARD_GUARDED_BY(mutex_) = nullptr;
  std::map<std::string, std::shared_ptr<const NetworkFile>> known_ TRAINYARD_GUARDED_BY(mutex_);
};

NetworkFiles& network_files() {
  static NetworkFiles files;
  return files;
}

}  // namespace

void read_network_files(const char* end, ReadNetworkFile read) { network_files().set_reader(end, read); }

bool names_network_file(std::string_view name) { return network_files().has_end(name); }

std::shared_ptr<const NetworkFile> network_file(std::string_view name) { return network_files().find(name); }

void give_classes(const NetworkFile& file, int classes, ModelOptions& model) {
  if (classes == 0 || classes == file.info.classes) return;
  model.classes = classes;
  model.imported = file.with_classes(classes)->build;
}

}  // namespace trainyard::networks
