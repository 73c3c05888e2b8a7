#include "meter/system_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <charconv>

#include "base/file.h"

namespace trainyard::meter {

namespace {

constexpr std::string_view kBlank = " \t\r\n";

}  // namespace

SystemFiles::SystemFiles(std::string_view root) : root_(root) {
  while (root_.ends_with('/')) root_.pop_back();
}

std::optional<std::string> SystemFiles::text(const std::string& path, std::size_t most_bytes) const {
  const int descriptor = ::open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string content;
  char buffer[4096];
  ::ssize_t got = 0;
  while (content.size() < most_bytes &&
         (got = ::read(descriptor, buffer, std::min(sizeof(buffer), most_bytes - content.size()))) > 0)
    content.append(buffer, static_cast<std::size_t>(got));
  ::close(descriptor);
  if (got < 0) return std::nullopt;
  content.erase(content.find_last_not_of(kBlank) + 1);
  return content;
}

std::optional<std::int64_t> SystemFiles::integer(const std::string& path) const {
  const auto content = text(path, 64);
  return content ? leading_integer(*content) : std::nullopt;
}

bool SystemFiles::exists(const std::string& path) const {
  return ::access((root_ + path).c_str(), F_OK) == 0;
}

std::vector<std::string> SystemFiles::names(const std::string& folder) const {
  std::vector<std::string> found;
  std::error_code code;
  std::filesystem::directory_iterator entry(root_ + folder, code);
  for (; !code && entry != std::filesystem::directory_iterator(); entry.increment(code))
    found.push_back(entry->path().filename().string());
  std::sort(found.begin(), found.end());
  return found;
}

std::string SystemFiles::write(const std::string& path, const std::string& text) const {
  const Descriptor file(::open((root_ + path).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (file.number() >= 0 &&
      ::write(file.number(), text.data(), text.size()) == static_cast<::ssize_t>(text.size()))
    return "";
  std::string reason = std::strerror(errno);
  reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
  return reason;
}

std::optional<std::int64_t> leading_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<std::string> keyed_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(key)) continue;
    const std::string_view rest = line.substr(key.size());
    if (rest.empty() || rest.find_first_of(" \t:=") != 0) continue;
    const std::size_t start = rest.find_first_not_of(" \t:=");
    if (start == rest.npos) return "";
    return std::string(rest.substr(start, rest.find_last_not_of(kBlank) + 1 - start));
  }
  return std::nullopt;
}

std::optional<std::int64_t> keyed_integer(std::string_view text, std::string_view key) {
  const auto value = keyed_value(text, key);
  return value ? leading_integer(*value) : std::nullopt;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t start = 0; (start = text.find_first_not_of(kBlank, start)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, start), text.size());
    words.push_back(text.substr(start, end - start));
    start = end;
  }
  return words;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr std::int64_t kMostCpus = 1 << 16;  // of a damaged file
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), range.size() + 1));
    const auto first = leading_integer(range);
    if (!first || *first < 0) continue;
    const std::size_t dash = range.find('-');
    const auto last = dash == range.npos ? first : leading_integer(range.substr(dash + 1));
    if (!last || *last >= kMostCpus) continue;
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

KeptFile::KeptFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

KeptFile::~KeptFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string_view KeptFile::read(std::span<char> buffer) const {
  const ssize_t bytes = descriptor_ < 0 ? -1 : ::pread(descriptor_, buffer.data(), buffer.size(), 0);
  return bytes <= 0 ? std::string_view() : std::string_view(buffer.data(), static_cast<std::size_t>(bytes));
}

}  // namespace trainyard::meter
