#include "comm/transport/handshake.h"

#include <sys/stat.h>

#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"

namespace trainyard::comm::transport {
namespace {

constexpr Hello kWorker{.role = 2, .id = 0x01020304};

TEST(JobKey, IsWrittenForItsOwnerAlone) {
  const TestFolder folder;
  const auto file = folder.path() / "key";
  const JobKey key = JobKey::random();
  key.write(file);
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_TRUE(same(JobKey::read(file).sign({}), key.sign({})));
  EXPECT_THROW(key.write(file), Error) << "a key is never overwritten";
  ::chmod(file.c_str(), 0640);
  EXPECT_THROW(JobKey::read(file), Error);
}

TEST(JobKey, RefusesWhatIsNone) {
  const TestFolder folder;
  const auto file = folder.path() / "key";
  EXPECT_THROW(JobKey::read(file), Error);
  std::ofstream(file) << std::string(64, 'x') << "\n";
  ::chmod(file.c_str(), 0600);
  EXPECT_THROW(JobKey::read(file), Error);
  std::ofstream(file) << std::string(63, 'a') << "\n";
  EXPECT_THROW(JobKey::read(file), Error);
}

TEST(JobKey, SignsAsHmacSha256) {
  // RFC 4231's key is of another length; this one was computed with `openssl dgst -sha256 -mac HMAC`.
  const TestFolder folder;
  const auto file = folder.path() / "key";
  std::ofstream(file) << "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
  ::chmod(file.c_str(), 0600);
  const std::string_view text = "trainyard";
  const Digest digest = JobKey::read(file).sign({std::as_bytes(std::span(text))});
  std::string hex;
  for (const std::byte byte : digest) hex += fmt::format("{:02x}", static_cast<int>(byte));
  EXPECT_EQ(hex, "5f2612d3f8232d6b1648542208910f483654f291820de46e630f2f0b7f945de0");
}

TEST(Handshake, BothSidesBelieveEachOther) {
  const JobKey key = JobKey::random();
  const CallerHandshake caller(key, kWorker);
  ListenerHandshake listener(key);
  EXPECT_EQ(listener.accept(caller.answer(listener.challenge(caller.hello()))), kWorker);
}

TEST(Handshake, AnotherKeyIsRefusedByBoth) {
  const JobKey key = JobKey::random(), other = JobKey::random();
  const CallerHandshake caller(other, kWorker);
  ListenerHandshake listener(key);
  const ChallengeBytes challenge = listener.challenge(caller.hello());
  EXPECT_THROW(caller.answer(challenge), Error);
  ListenerHandshake false_listener(other);
  EXPECT_THROW(listener.accept(caller.answer(false_listener.challenge(caller.hello()))), Error);
}

TEST(Handshake, WhatWasHeardOpensNothing) {
  const JobKey key = JobKey::random();
  const CallerHandshake caller(key, kWorker);
  ListenerHandshake listener(key);
  const AnswerBytes heard = caller.answer(listener.challenge(caller.hello()));
  ListenerHandshake later(key);
  later.challenge(caller.hello());
  EXPECT_THROW(later.accept(heard), Error);
}

TEST(Handshake, NeitherSideCanHandBackWhatItWasGiven) {
  const JobKey key = JobKey::random();
  const CallerHandshake caller(key, kWorker);
  ListenerHandshake listener(key);
  const ChallengeBytes challenge = listener.challenge(caller.hello());
  AnswerBytes echoed{};
  std::copy(challenge.begin() + 32, challenge.end(), echoed.begin());
  EXPECT_THROW(listener.accept(echoed), Error);
}

TEST(Handshake, RoleAndIdAreSigned) {
  const JobKey key = JobKey::random();
  const CallerHandshake caller(key, kWorker);
  HelloBytes changed = caller.hello();
  changed[8] ^= std::byte{1};
  ListenerHandshake listener(key);
  EXPECT_THROW(caller.answer(listener.challenge(changed)), Error);
}

TEST(Handshake, SaysWhatIsWrong) {
  ListenerHandshake listener(JobKey::random());
  try {
    listener.challenge({});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "what came is no hello");
  }
  HelloBytes newer = CallerHandshake(JobKey::random(), kWorker).hello();
  newer[4] = std::byte{9};
  try {
    listener.challenge(newer);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a hello of version 9 came, this side speaks version 1");
  }
}

}  // namespace
}  // namespace trainyard::comm::transport
