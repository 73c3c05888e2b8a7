#pragma once

#include <initializer_list>

#include "base/standard.h"

namespace trainyard::comm::transport {

using Digest = std::array<std::byte, 32>;

// JobKey is the secret that the processes of one job share. Every process that has it may take part.
class JobKey {
 public:
  static JobKey random();
  // Parses 64 hexadecimal digits. Error (config) when it is something else; `where` says whence it came.
  static JobKey parse(const std::string& text, const std::string& where);
  std::string to_text() const;
  // Reads the same from a file; Error (config) also when others than its owner may read it.
  static JobKey read(const std::filesystem::path& file);
  void write(const std::filesystem::path& file) const;

  // Computes HMAC-SHA-256 over the parts, one after the other.
  Digest sign(std::initializer_list<std::span<const std::byte>> parts) const;

 private:
  std::array<std::byte, 32> secret_{};
};

// Compares in a time that does not depend on where the two differ.
bool same(const Digest& a, const Digest& b);

// Fills the bytes from the system's source of randomness.
void fill_random(std::span<std::byte> bytes);

// Two processes authenticate each other before anything else is said (docs/formats/ps-wire.md). Both prove
// that they have the key of the job, each for numbers that the other has just drawn, so that a recorded
// handshake opens nothing. All messages have a fixed length; nothing that comes decides how much is read or
// kept.

struct Hello {
  std::uint8_t role = 0;  // what it is, and which one: said by who calls, believed once it is signed
  std::uint32_t id = 0;

  bool operator==(const Hello&) const = default;
};

inline constexpr std::size_t kHelloBytes = 48, kChallengeBytes = 64, kAnswerBytes = 32;
using HelloBytes = std::array<std::byte, kHelloBytes>;
using ChallengeBytes = std::array<std::byte, kChallengeBytes>;
using AnswerBytes = std::array<std::byte, kAnswerBytes>;

class CallerHandshake {
 public:
  CallerHandshake(const JobKey& key, const Hello& hello);

  const HelloBytes& hello() const { return hello_; }
  // Error (peer): the process that answers does not have the key.
  AnswerBytes answer(const ChallengeBytes& challenge) const;

 private:
  JobKey key_;
  HelloBytes hello_{};
};

class ListenerHandshake {
 public:
  explicit ListenerHandshake(const JobKey& key) : key_(key) {}

  // Answers a hello. Error (peer): it is no hello, or of another version.
  ChallengeBytes challenge(const HelloBytes& hello);
  // Error (peer): the caller does not have the key.
  Hello accept(const AnswerBytes& answer) const;

 private:
  JobKey key_;
  HelloBytes hello_{};
  Digest nonce_{};
};

}  // namespace trainyard::comm::transport
