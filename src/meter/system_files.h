#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard::meter {

// The small text files in which Linux describes itself: /proc, /sys, /etc. Another root gives another
// machine. What cannot be read is simply absent: containers and virtual machines hide much of it.
class SystemFiles {
 public:
  explicit SystemFiles(std::string_view root = "/");

  // All or the first `most_bytes` of it, without white space at its end.
  std::optional<std::string> text(const std::string& path, std::size_t most_bytes = 1 << 20) const;
  std::optional<std::int64_t> integer(const std::string& path) const;
  bool exists(const std::string& path) const;
  // Names in a folder, sorted.
  std::vector<std::string> names(const std::string& folder) const;
  // Into a file that is there, such as a switch of the kernel's. Returns "" or why not: "permission denied".
  std::string write(const std::string& path, const std::string& text) const;

 private:
  std::string root_;
};

// The rest of the first line that begins with the word `key`: "MemTotal:  16 kB" -> "16 kB", also for
// "key value", "key\t: value" and "key=value".
std::optional<std::string> keyed_value(std::string_view text, std::string_view key);
std::optional<std::int64_t> keyed_integer(std::string_view text, std::string_view key);

// The integer that the text begins with.
std::optional<std::int64_t> leading_integer(std::string_view text);

std::vector<std::string_view> split_words(std::string_view text);

// "0-3,8" -> 0 1 2 3 8; what is no such list is left out.
std::vector<int> parse_cpu_list(std::string_view text);

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
