#include "comm/transport/handshake.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "comm/transport/frame.h"
#include "comm/transport/little_endian.h"

namespace trainyard::comm::transport {
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
