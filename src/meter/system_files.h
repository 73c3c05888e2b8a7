#pragma once

#include "base/standard.h"

namespace trainyard::meter {

// SystemFiles reads the small text files in which Linux describes itself: /proc, /sys, /etc. Another root
// gives another machine. Unreadable files are simply absent: containers and virtual machines hide many.
class SystemFiles {
 public:
  explicit SystemFiles(std::string_view root = "/");

  // Returns all or the first `most_bytes` of the file, without white space at its end.
  std::optional<std::string> text(const std::string& path, std::size_t most_bytes = 1 << 20) const;
  std::optional<std::int64_t> integer(const std::string& path) const;
  bool exists(const std::string& path) const;
  // Names in a folder, sorted.
  std::vector<std::string> names(const std::string& folder) const;
  // Writes into an existing file, such as a switch of the kernel's. Returns "" or the reason: "permission
  // denied".
  std::string write(const std::string& path, const std::string& text) const;

 private:
  std::string root_;
};

// Returns the rest of the first line that begins with the word `key`: "MemTotal:  16 kB" -> "16 kB", also for
// "key value", "key\t: value" and "key=value".
std::optional<std::string> keyed_value(std::string_view text, std::string_view key);
std::optional<std::int64_t> keyed_integer(std::string_view text, std::string_view key);

// Returns the integer that the text begins with.
std::optional<std::int64_t> leading_integer(std::string_view text);

std::vector<std::string_view> split_words(std::string_view text);

// "0-3,8" -> 0 1 2 3 8; parts that are no such list are left out.
std::vector<int> parse_cpu_list(std::string_view text);

// KeptFile is a file of /proc that is read repeatedly. It stays open, which costs a tenth of opening it anew,
// and still refers to the same process after that has ended and its id was reused. Not thread-safe.
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
  // Returns the current content, as far as `buffer` has room; empty where it is not readable, or its process
  // has ended.
  std::string_view read(std::span<char> buffer) const;

 private:
  int descriptor_ = -1;
};

}  // namespace trainyard::meter
