#include "comm/transport/job_key.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "base/error.h"

namespace trainyard::comm::transport {
namespace {

int digit_of(char c) {
  const std::string digits = "0123456789abcdef";
  const auto at = digits.find(c);
  return at == std::string::npos ? -1 : static_cast<int>(at);
}

}  // namespace

JobKey JobKey::random() {
  JobKey key;
  fill_random(key.secret_);
  return key;
}

JobKey JobKey::read(const std::filesystem::path& file) {
  struct stat status {};
  std::ifstream stream(file);
  std::string line;
  if (!stream || ::stat(file.c_str(), &status) != 0 || !std::getline(stream, line))
    fail(ErrorKind::config, "key file '{}': cannot be read", file.string());
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    fail(ErrorKind::config, "key file '{}': others may read it; allowed is mode 600", file.string());
  return parse(line, fmt::format("key file '{}'", file.string()));
}

JobKey JobKey::parse(const std::string& text, const std::string& where) {
  JobKey key;
  bool good = text.size() == 2 * key.secret_.size();
  for (std::size_t i = 0; good && i < key.secret_.size(); ++i) {
    const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
    good = high >= 0 && low >= 0;
    key.secret_[i] = static_cast<std::byte>(high << 4 | low);
  }
  if (!good) fail(ErrorKind::config, "{}: wants {} hexadecimal digits", where, 2 * key.secret_.size());
  return key;
}

std::string JobKey::to_text() const {
  std::string text;
  for (const std::byte byte : secret_) text += fmt::format("{:02x}", static_cast<int>(byte));
  return text;
}

void JobKey::write(const std::filesystem::path& file) const {
  const std::string line = to_text() + '\n';
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) fail(ErrorKind::io, "key file '{}': {}", file.string(), std::strerror(errno));
  const bool written = ::write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  ::close(descriptor);
  if (!written) fail(ErrorKind::io, "key file '{}': {}", file.string(), std::strerror(error));
}

Digest JobKey::sign(std::initializer_list<std::span<const std::byte>> parts) const {
  std::vector<std::byte> message;
  for (const std::span<const std::byte> part : parts) message.insert(message.end(), part.begin(), part.end());
  Digest digest{};
  unsigned length = 0;
  const unsigned char* made = ::HMAC(::EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
                                     reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                                     reinterpret_cast<unsigned char*>(digest.data()), &length);
  TRAINYARD_CHECK(made != nullptr && length == digest.size());
  return digest;
}

bool same(const Digest& a, const Digest& b) { return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

void fill_random(std::span<std::byte> bytes) {
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1)
    fail(ErrorKind::io, "the system has no random numbers to give");
}

}  // namespace trainyard::comm::transport
