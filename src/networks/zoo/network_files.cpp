#include "networks/zoo/network_files.h"

#include "base/mutex.h"

namespace trainyard::networks {
namespace {

class NetworkFiles {
 public:
  void add_reader(const char* end, ReadNetworkFile read) {
    const MutexLock lock(mutex_);
    readers_.emplace(end, read);
  }

  std::shared_ptr<const NetworkFile> find(std::string_view name) {
    const MutexLock lock(mutex_);
    const auto reader = std::find_if(readers_.begin(), readers_.end(),
                                     [&](const auto& one) { return name.ends_with(one.first); });
    if (reader == readers_.end()) return nullptr;
    const std::string key(name);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    return known_[key] = reader->second(key);
  }

 private:
  Mutex mutex_;
  std::map<std::string, ReadNetworkFile> readers_ TRAINYARD_GUARDED_BY(mutex_);  // by the end of names
  std::map<std::string, std::shared_ptr<const NetworkFile>> known_ TRAINYARD_GUARDED_BY(mutex_);
};

NetworkFiles& network_files() {
  static NetworkFiles files;
  return files;
}

}  // namespace

void read_network_files(const char* end, ReadNetworkFile read) { network_files().add_reader(end, read); }

std::shared_ptr<const NetworkFile> network_file(std::string_view name) { return network_files().find(name); }

std::shared_ptr<const NetworkFile> imported_file(std::string_view name) {
  auto file = network_file(name);
  return file && file->build ? file : nullptr;
}

}  // namespace trainyard::networks
