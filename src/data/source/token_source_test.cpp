#include "data/source/token_source.h"

#include "base/test_folder.h"
#include "data/source/dataset.h"
#include "data/text/token_file.h"

namespace trainyard::data {
namespace {

TEST(Text, IsCutIntoSequencesOfWhichTheLastAreHeldOut) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 101; ++i) text += static_cast<char>(i);
  const auto file = folder.write("text", text);
  const Dataset dataset = load_text(file, {5, 256});
  EXPECT_EQ(dataset.size(Split::train), 18);
  EXPECT_EQ(dataset.size(Split::test), 2);
  SampleSource::Scratch scratch;
  const Sample last = dataset.test.source()->read(1, scratch);
  EXPECT_EQ(last.label, 5);
  const auto* tokens = reinterpret_cast<const std::int32_t*>(last.bytes.data());
  EXPECT_EQ(std::vector(tokens, tokens + 6), (std::vector<std::int32_t>{95, 96, 97, 98, 99, 100}));
  EXPECT_NO_THROW(load_text(file, {5, 101}));
  expect_error(ErrorKind::usage, "vocabulary 100 is too small", [&] { load_text(file, {5, 100}); });
  expect_error(ErrorKind::config, "101 bytes, at least 103 expected", [&] { load_text(file, {51, 256}); });
  const auto empty = folder.write("empty", "");
  expect_error(ErrorKind::config, "empty': 0 bytes, at least 11 expected: two sequences of 5 steps", [&] {
    load_text(empty, {5, 256});
  });
  expect_error(ErrorKind::config, "none' is not a file", [&] { load_text(folder.path() / "none", {}); });
}

TEST(SyntheticSequences, MostTokensFollowFromTheOneBefore) {
  const Dataset dataset = make_synthetic_sequences({200, 50}, 3);
  SampleSource::Scratch scratch;
  std::vector<std::set<std::int32_t>> next(50);
  std::multiset<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::int64_t i = 0; i < 20; ++i) {
    const Sample sample = dataset.train.source()->read(i, scratch);
    const auto* tokens = reinterpret_cast<const std::int32_t*>(sample.bytes.data());
    for (int t = 0; t < 200; ++t) pairs.insert({tokens[t], tokens[t + 1]});
  }
  std::int64_t usual = 0;
  for (std::int32_t token = 0; token < 50; ++token) {
    std::size_t most = 0;
    for (std::int32_t follower = 0; follower < 50; ++follower)
      most = std::max(most, pairs.count({token, follower}));
    usual += static_cast<std::int64_t>(most);
  }
  EXPECT_NEAR(static_cast<double>(usual) / 4000, 0.755, 0.05);
}

// Damage inside a file is that of token_file_test.cpp.
TEST(Tokens, WhatDoesNotFitIsRefused) {
  const TestFolder folder;
  const auto load = [&](std::int64_t length, std::int64_t vocabulary) {
    return [&folder, length, vocabulary] { load_tokens(folder.path(), {length, vocabulary}); };
  };
  std::vector<Token> tokens(61);
  std::iota(tokens.begin(), tokens.end(), 0);
  write_tokens(folder.path() / "train.tokens", tokens, 300, 5);
  expect_error(ErrorKind::config, "no file 'validation.tokens'", load(10, 300));
  write_tokens(folder.path() / "validation.tokens", std::span(tokens).first(21), 300, 5);
  const Dataset dataset = load_tokens(folder.path(), {10, 300});
  EXPECT_EQ(dataset.size(Split::train), 6);
  EXPECT_EQ(dataset.size(Split::test), 2);
  expect_error(ErrorKind::config, "validation.tokens': 21 tokens, at least 22 expected", load(21, 300));
  expect_error(ErrorKind::usage, "vocabulary 299 is too small: '", load(10, 299));
  EXPECT_EQ(vocabulary_of_tokens(folder.path()), 300);
  write_tokens(folder.path() / "validation.tokens", tokens, 300, 6);
  expect_error(ErrorKind::config, "has another vocabulary", load(10, 300));
  std::filesystem::resize_file(folder.path() / "train.tokens", 100);
  expect_error(ErrorKind::config, "train.tokens': 100 bytes; a header of 40 and 61 tokens of 2 expected",
               load(10, 300));
  expect_error(ErrorKind::config, "train.tokens': 100 bytes", [&] { vocabulary_of_tokens(folder.path()); });
  expect_error(ErrorKind::config, "none': no file 'train.tokens'",
               [&] { list_tokens(folder.path() / "none"); });
}

}  // namespace
}  // namespace trainyard::data
