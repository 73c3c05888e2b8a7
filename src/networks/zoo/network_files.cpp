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

  bool has_end(std::string_view name) {
    const MutexLock lock(mutex_);
    return reader_of(name) != nullptr;
  }

  std::shared_ptr<const NetworkFile> find(std::string_view name) {
    const MutexLock lock(mutex_);
    const ReadNetworkFile read = reader_of(name);
    if (read == nullptr) return nullptr;
    const std::string key(name);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    return known_[key] = read(key);
  }

 private:
  ReadNetworkFile reader_of(std::string_view name) const TRAINYARD_REQUIRES(mutex_) {
    const auto reader = std::find_if(readers_.begin(), readers_.end(),
                                     [&](const auto& one) { return name.ends_with(one.first); });
    return reader == readers_.end() ? nullptr : reader->second;
  }

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

bool names_network_file(std::string_view name) { return network_files().has_end(name); }

std::shared_ptr<const NetworkFile> network_file(std::string_view name) { return network_files().find(name); }

std::shared_ptr<const NetworkFile> imported_file(std::string_view name) {
  auto file = network_file(name);
  return file && file->build ? file : nullptr;
}

void give_classes(const NetworkFile& file, int classes, ModelOptions& model) {
  if (classes == 0 || classes == file.info.classes) return;
  model.classes = classes;
  if (file.with_classes) model.imported = file.with_classes(classes)->build;
}

}  // namespace trainyard::networks
