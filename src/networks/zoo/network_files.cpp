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

  std::shared_ptr<const NetworkFile> find(std::string_view name) {
    const MutexLock lock(mutex_);
    if (read_ == nullptr || !name.ends_with(end_)) return nullptr;
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

std::shared_ptr<const NetworkFile> network_file(std::string_view name) { return network_files().find(name); }

}  // namespace trainyard::networks
