#include "comm/transport/handshake.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/error.h"
#include "comm/transport/frame.h"

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

namespace {

// "TYHI", version, role, two zeros, id (lowest byte first), 32 random bytes, four zeros.
constexpr std::string_view kGreeting = "TYHI";
constexpr std::size_t kVersionAt = 4, kRoleAt = 5, kIdAt = 8, kNonceAt = 12, kNonceBytes = 32;
static_assert(kNonceAt + kNonceBytes <= kHelloBytes);

// The two sides sign different words: neither can hand back what it was given.
Digest proof(const JobKey& key, std::string_view who, const HelloBytes& hello,
             std::span<const std::byte> nonce) {
  return key.sign({std::as_bytes(std::span(who)), hello, nonce});
}
constexpr std::string_view kListener = "trainyard listener", kCaller = "trainyard caller";

}  // namespace

CallerHandshake::CallerHandshake(const JobKey& key, const Hello& hello) : key_(key) {
  for (std::size_t i = 0; i < kGreeting.size(); ++i) hello_[i] = static_cast<std::byte>(kGreeting[i]);
  hello_[kVersionAt] = std::byte{kWireVersion};
  hello_[kRoleAt] = std::byte{hello.role};
  put(hello_.data() + kIdAt, hello.id);
  fill_random(std::span(hello_).subspan(kNonceAt, kNonceBytes));
}

AnswerBytes CallerHandshake::answer(const ChallengeBytes& challenge) const {
  const auto nonce = std::span(challenge).first<kNonceBytes>();
  Digest shown{};
  std::copy(challenge.begin() + kNonceBytes, challenge.end(), shown.begin());
  if (!same(shown, proof(key_, kListener, hello_, nonce)))
    fail(ErrorKind::peer, "who listens there has not the key of this job");
  return proof(key_, kCaller, hello_, nonce);
}

ChallengeBytes ListenerHandshake::challenge(const HelloBytes& hello) {
  const bool greets = std::equal(kGreeting.begin(), kGreeting.end(), hello.begin(),
                                 [](char c, std::byte b) { return static_cast<std::byte>(c) == b; });
  if (!greets) fail(ErrorKind::peer, "what came is no hello");
  if (hello[kVersionAt] != std::byte{kWireVersion})
    fail(ErrorKind::peer, "a hello of version {} came, this side speaks version {}",
         static_cast<int>(hello[kVersionAt]), kWireVersion);
  hello_ = hello;
  fill_random(nonce_);
  const Digest shown = proof(key_, kListener, hello_, nonce_);
  ChallengeBytes challenge{};
  std::copy(shown.begin(), shown.end(), std::copy(nonce_.begin(), nonce_.end(), challenge.begin()));
  return challenge;
}

Hello ListenerHandshake::accept(const AnswerBytes& answer) const {
  if (!same(answer, proof(key_, kCaller, hello_, nonce_)))
    fail(ErrorKind::peer, "who calls has not the key of this job");
  Hello hello{.role = static_cast<std::uint8_t>(hello_[kRoleAt])};
  get(hello_.data() + kIdAt, hello.id);
  return hello;
}

}  // namespace trainyard::comm::transport
