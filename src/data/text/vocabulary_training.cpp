#include "data/text/vocabulary_training.h"

#include <queue>

#include "base/error.h"
#include "process/stop_request.h"

namespace trainyard::data {

namespace {

using Pair = Vocabulary::Merge;

constexpr std::int64_t kFewest = 2;  // a pair that comes once saves nothing that is worth a token

// A different word of the text, in tokens so far.
struct CountedWord {
  std::vector<Token> tokens;
  std::int64_t count = 0;
};

std::vector<CountedWord> count_words(std::string_view text) {
  std::vector<CountedWord> words;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t words_seen = 0; !text.empty(); ++words_seen) {
    if (words_seen % 65536 == 0) process::StopRequest::check();
    const std::string_view word = text.substr(0, first_word(text));
    text.remove_prefix(word.size());
    const auto [place, is_new] = places.try_emplace(word, words.size());
    if (is_new) {
      words.emplace_back();
      for (const char byte : word) words.back().tokens.push_back(static_cast<unsigned char>(byte));
    }
    ++words[place->second].count;
  }
  return words;
}

// Counts pairs, and keeps the counts while words change: a merge costs what the words that have it cost.
class PairCounts {
 public:
  explicit PairCounts(std::vector<CountedWord> words) : words_(std::move(words)) {
    for (std::uint32_t word = 0; word < words_.size(); ++word) {
      count(word, +1);
      note_pairs(word, std::nullopt);
    }
    for (const auto& [key, counted] : pairs_) offers_.push({counted.count, key});
  }

  // Returns the most frequent pair; nothing when none comes kFewest times.
  std::optional<Pair> most_frequent() {
    while (!offers_.empty()) {
      const Offer best = offers_.top();
      const auto found = pairs_.find(best.key);
      const std::int64_t count = found == pairs_.end() ? 0 : found->second.count;
      if (best.count == count) return count < kFewest ? std::nullopt : std::optional(pair_of(best.key));
      // The pair has lost occurrences since it was offered.
      offers_.pop();
      if (count > 0) offers_.push({count, best.key});
    }
    return std::nullopt;
  }

  void merge(Pair pair, Token token) {
    const auto found = pairs_.find(key_of(pair));
    const std::vector<std::uint32_t> having = std::move(found->second.words);
    made_.clear();
    for (const std::uint32_t word : having) merge_in(word, pair, token);
    pairs_.erase(key_of(pair));
    std::sort(made_.begin(), made_.end());
    made_.erase(std::unique(made_.begin(), made_.end()), made_.end());
    for (const std::uint64_t key : made_)
      if (const auto now = pairs_.find(key); now != pairs_.end()) offers_.push({now->second.count, key});
  }

 private:
  struct Counted {
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  // that have had the pair; some have it no more, or are named twice
  };

  // Counts only fall behind an offer, as a pair gains occurrences only by the merge that makes its token.
  struct Offer {
    std::int64_t count;
    std::uint64_t key;
    bool operator<(const Offer& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };

  static std::uint64_t key_of(Pair pair) { return std::uint64_t{pair.first} << 32 | pair.second; }
  static Pair pair_of(std::uint64_t key) { return {static_cast<Token>(key >> 32), static_cast<Token>(key)}; }

  void count(std::uint32_t word, std::int64_t sign) {
    const CountedWord& counted = words_[word];
    for (std::size_t i = 0; i + 1 < counted.tokens.size(); ++i)
      pairs_[key_of({counted.tokens[i], counted.tokens[i + 1]})].count += sign * counted.count;
  }

  // Notes that a word has the pairs in which `token` is, or all pairs.
  void note_pairs(std::uint32_t word, std::optional<Token> token) {
    const std::vector<Token>& tokens = words_[word].tokens;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (token && tokens[i] != token && tokens[i + 1] != token) continue;
      const std::uint64_t key = key_of({tokens[i], tokens[i + 1]});
      pairs_[key].words.push_back(word);
      if (token) made_.push_back(key);
    }
  }

  void merge_in(std::uint32_t word, Pair pair, Token token) {
    std::vector<Token>& tokens = words_[word].tokens;
    const auto is_pair = [&](std::size_t i) {
      return i + 1 < tokens.size() && tokens[i] == pair.first && tokens[i + 1] == pair.second;
    };
    std::size_t first = 0;
    while (first < tokens.size() && !is_pair(first)) ++first;
    if (first == tokens.size()) return;
    count(word, -1);
    std::size_t kept = first;
    for (std::size_t i = first; i < tokens.size(); ++i) {
      const bool both = is_pair(i);
      tokens[kept++] = both ? token : tokens[i];
      if (both) ++i;
    }
    tokens.resize(kept);
    count(word, +1);
    note_pairs(word, token);
  }

  std::vector<CountedWord> words_;
  std::unordered_map<std::uint64_t, Counted> pairs_;
  std::priority_queue<Offer> offers_;
  std::vector<std::uint64_t> made_;  // the pairs of the token that is being made
};

}  // namespace

Vocabulary train_vocabulary(std::string_view text, std::int64_t size, ProgressListener* progress) {
  TRAINYARD_CHECK(size >= Vocabulary::kBytes && size <= Vocabulary::kMost);
  std::vector<Pair> merges;
  if (size == Vocabulary::kBytes) return Vocabulary();
  PairCounts pairs(count_words(text));
  Progress bar(progress, "training the vocabulary", size - Vocabulary::kBytes);
  while (Vocabulary::kBytes + std::ssize(merges) < size) {
    process::StopRequest::check();
    const std::optional<Pair> pair = pairs.most_frequent();
    if (!pair) break;
    pairs.merge(*pair, Vocabulary::kBytes + static_cast<Token>(merges.size()));
    merges.push_back(*pair);
    bar.update(std::ssize(merges));
  }
  return Vocabulary(std::move(merges));
}

}  // namespace trainyard::data
