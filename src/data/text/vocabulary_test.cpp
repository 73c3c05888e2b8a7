#include "data/text/vocabulary.h"

#include "base/philox.h"
#include "base/test_folder.h"

namespace trainyard::data {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (; !text.empty(); text.remove_prefix(words.back().size()))
    words.emplace_back(text.substr(0, first_word(text)));
  return words;
}

TEST(Words, AreRunsOfOneSignWithASpaceBefore) {
  using List = std::vector<std::string>;
  EXPECT_EQ(words_of("Call me Ishmael."), (List{"Call", " me", " Ishmael", "."}));
  EXPECT_EQ(words_of("in 1851, 2nd"), (List{"in", " 1851", ",", " 2", "nd"}));
  EXPECT_EQ(words_of("a  b\n\n  c \n"), (List{"a", " ", " b", "\n\n ", " c", " \n"}));
  EXPECT_EQ(words_of(" \"x\"  "), (List{" \"", "x", "\"", "  "}));
  EXPECT_EQ(words_of("caf\u00e9 \u2014"), (List{"caf\u00e9", " \u2014"}));
  EXPECT_EQ(words_of("a\tb"), (List{"a", "\t", "b"}));
  for (const std::string& word : words_of(std::string(1000, 'x') + " " + std::string(1000, 'y')))
    EXPECT_LE(word.size(), kMostWordBytes);
}

// "ab", "abc", "bc".
Vocabulary small_vocabulary() { return Vocabulary({{'a', 'b'}, {256, 'c'}, {'b', 'c'}}); }

TEST(TextVocabulary, TheEarliestMergeComesFirst) {
  const Vocabulary vocabulary = small_vocabulary();
  EXPECT_EQ(vocabulary.size(), 259u);
  EXPECT_EQ(vocabulary.bytes_of(257), "abc");
  EXPECT_EQ(vocabulary.bytes_of('x'), "x");
  Encoder encoder(vocabulary);
  EXPECT_EQ(encoder.encode("abcbc"), (std::vector<Token>{257, 258}));
  EXPECT_EQ(encoder.encode("ab c"), (std::vector<Token>{256, ' ', 'c'}));
  EXPECT_EQ(encoder.encode(""), std::vector<Token>());
  expect_error(ErrorKind::config, "token 259, one below 259 expected",
               [&] { vocabulary.decode(std::array<Token, 1>{259}); });
}

TEST(TextVocabulary, AnyBytesComeBackAsTheyWere) {
  const Vocabulary vocabulary = small_vocabulary(), bytes;
  for (std::uint64_t round = 0; round < 50; ++round) {
    const Philox random(7, round);
    std::string text;
    const std::uint32_t letters = round % 2 == 0 ? 256 : 5;  // all bytes, or many merges
    for (std::uint64_t i = 0; i < 40 * round; ++i)
      text += static_cast<char>(random.word(i) % letters + (letters == 5 ? 96 : 0));
    EXPECT_EQ(vocabulary.decode(Encoder(vocabulary).encode(text)), text);
    EXPECT_EQ(Encoder(bytes).encode(text).size(), text.size());
    EXPECT_EQ(bytes.decode(Encoder(bytes).encode(text)), text);
  }
}

TEST(TextVocabulary, AFileKeepsIt) {
  const TestFolder folder;
  const auto file = folder.path() / "vocabulary.json";
  const Vocabulary vocabulary = small_vocabulary();
  const std::uint32_t sum = write_vocabulary(vocabulary, file);
  EXPECT_EQ(read_vocabulary(file).merges(), vocabulary.merges());
  EXPECT_EQ(write_vocabulary(vocabulary, folder.path() / "again"), sum);
  EXPECT_NE(write_vocabulary(Vocabulary(), folder.path() / "bytes"), sum);
  EXPECT_EQ(read_vocabulary(folder.path() / "bytes").size(), 256u);
}

TEST(TextVocabulary, ADamagedFileIsRefused) {
  const TestFolder folder;
  const auto expect = [&](const std::string& content, const std::string& part) {
    const auto file = folder.write("vocabulary.json", content);
    expect_error(ErrorKind::config, part, [&] { read_vocabulary(file); });
    expect_error(ErrorKind::config, "vocabulary.json'", [&] { read_vocabulary(file); });
  };
  const auto with = [](const std::string& merges, int size) {
    return R"({"schema":1,"kind":"byte pairs","vocabulary":)" + std::to_string(size) + R"(,"merges":[)" +
           merges + "]}";
  };
  expect("", "no vocabulary");
  expect("[1]", "no vocabulary");
  expect(R"({"schema":2,"kind":"byte pairs"})", "schema 1 and kind 'byte pairs' expected");
  expect(R"({"schema":1,"kind":"byte pairs","vocabulary":256})", "'merges' expected");
  expect(with("[97,98]", 256), "vocabulary 256 with 1 merges, 257 expected");
  expect(with("[97,256]", 257), "token 256 is a merge of [97,256], two tokens below 256 expected");
  expect(with("[97,-1]", 257), "two tokens below 256 expected");
  expect(with("[97,98.5]", 257), "two tokens below 256 expected");
  expect(with("[97]", 257), "a merge of [97], two tokens expected");
  expect(with("7", 257), "a merge of 7, two tokens expected");
  expect(with("[97,98],[97,98]", 258), "token 257 merges [97,98] again");
  std::string doubled = "[97,97]";
  for (int token = 256; token < 320; ++token)
    doubled += ",[" + std::to_string(token) + "," + std::to_string(token) + "]";
  expect(with(doubled, 321), "token 264 has 512 bytes, at most 256 expected");
}

}  // namespace
}  // namespace trainyard::data
