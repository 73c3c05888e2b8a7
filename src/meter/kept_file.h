#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard::meter {

// A file of /proc that is read again and again: it stays open, which costs a tenth of opening it anew, and
// keeps meaning the same process when that has ended and its number is another's. Not for two threads at
// once.
class KeptFile {
 public:
  KeptFile() = default;
  explicit KeptFile(const std::string& path);
  ~KeptFile();
  KeptFile(KeptFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  KeptFile& operator=(KeptFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  bool is_open() const { return descriptor_ >= 0; }
  // What it holds now, as far as `buffer` has room; empty where it cannot be read, or its process has ended.
  std::string_view read(std::span<char> buffer) const;

 private:
  int descriptor_ = -1;
};

}  // namespace trainyard::meter
