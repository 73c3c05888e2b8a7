#include "data/text/vocabulary_training.h"

#include <gtest/gtest.h>

#include "base/philox.h"

namespace trainyard::data {
namespace {

// Counts all pairs anew for every merge.
std::vector<Vocabulary::Merge> train_slowly(std::string_view text, std::int64_t size) {
  std::map<std::vector<Token>, std::int64_t> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, first_word(text));
    std::vector<Token> tokens;
    for (const char byte : word) tokens.push_back(static_cast<unsigned char>(byte));
    ++words[tokens];
    text.remove_prefix(word.size());
  }
  std::vector<Vocabulary::Merge> merges;
  while (Vocabulary::kBytes + std::ssize(merges) < size) {
    std::map<std::pair<Token, Token>, std::int64_t> counts;
    for (const auto& [word, count] : words)
      for (std::size_t i = 0; i + 1 < word.size(); ++i) counts[{word[i], word[i + 1]}] += count;
    const auto best = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end() || best->second < 2) break;
    const auto token = Vocabulary::kBytes + static_cast<Token>(merges.size());
    std::map<std::vector<Token>, std::int64_t> merged;
    for (const auto& [word, count] : words) {
      std::vector<Token> next;
      for (std::size_t i = 0; i < word.size(); ++i) {
        const bool both = i + 1 < word.size() && std::pair(word[i], word[i + 1]) == best->first;
        next.push_back(both ? token : word[i]);
        i += both ? 1 : 0;
      }
      merged[next] += count;
    }
    words = std::move(merged);
    merges.push_back({best->first.first, best->first.second});
  }
  return merges;
}

std::string random_text(std::uint64_t seed, int bytes) {
  const Philox random(seed, 3);
  std::string text;
  for (int i = 0; i < bytes; ++i) text += "aaabbcd \n"[random.word(static_cast<std::uint64_t>(i)) % 9];
  return text;
}

TEST(VocabularyTraining, MergesTheMostFrequentPairs) {
  const Vocabulary vocabulary = train_vocabulary("low low low low lower lower newest newest newest", 262);
  std::vector<std::string> made;
  for (Token token = 256; token < vocabulary.size(); ++token) made.emplace_back(vocabulary.bytes_of(token));
  EXPECT_EQ(made, (std::vector<std::string>{"lo", "low", " low", " n", "es", "ew"}));
}

TEST(VocabularyTraining, IsThatOfCountingAnew) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = random_text(seed, 300 + 100 * static_cast<int>(seed));
    EXPECT_EQ(train_vocabulary(text, 400).merges(), train_slowly(text, 400)) << seed;
  }
}

TEST(VocabularyTraining, EndsWherePairsComeOnce) {
  EXPECT_EQ(train_vocabulary("", 1000).size(), 256u);
  EXPECT_EQ(train_vocabulary("abcdefg", 1000).size(), 256u);
  EXPECT_EQ(train_vocabulary("ababab", 256).size(), 256u);
  const std::string text = random_text(1, 2000);
  EXPECT_EQ(train_vocabulary(text, 300).size(), 300u);
  const Vocabulary vocabulary = train_vocabulary(text, 100'000);
  EXPECT_LT(vocabulary.size(), 2000u);
  EXPECT_EQ(vocabulary.decode(Encoder(vocabulary).encode(text)), text);
}

// A word of one letter shares places between pairs.
TEST(VocabularyTraining, OfLongRuns) {
  const std::string text(100'000, 'x');
  const Vocabulary vocabulary = train_vocabulary(text, 270);
  EXPECT_EQ(vocabulary.merges(), train_slowly(text, 270));
  EXPECT_EQ(vocabulary.decode(Encoder(vocabulary).encode(text)), text);
}

}  // namespace
}  // namespace trainyard::data
