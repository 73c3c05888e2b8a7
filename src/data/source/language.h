#pragma once

#include "data/source/token_source.h"

namespace trainyard::data {

// A Language is a made-up language of which everything is known: a Markov chain over words whose next word
// depends on the word before and on the group (number modulo 4) of the one before that. After each such pair
// come 1 to 8 words, drawn once from the seed, the j-th of them as often as 1/j says, and word 0, the full
// stop, with 1/16: it makes every pair reachable from every other, so that there is one stationary
// distribution. Thread-safe.
class Language {
 public:
  static constexpr std::int64_t kMostWords = 65'536;  // the table has 4 x 8 numbers a word

  // Error (usage) for a vocabulary of less than 2 words or more than kMostWords.
  Language(std::uint64_t seed, std::int64_t vocabulary);

  // A State is all that the next word depends on.
  using State = std::uint32_t;
  State after(State state, std::int32_t word) const;
  std::int32_t last_word(State state) const { return static_cast<std::int32_t>(state % words_); }

  // Returns a state of the stationary distribution, and a word behind a state, for words that are drawn
  // equally likely.
  State begin(std::uint32_t drawn) const;
  std::int32_t next(State state, std::uint32_t drawn) const;

  double probability(State state, std::int32_t next) const;
  // The same where the word before is known and the group of the one before that is not.
  double probability_after_word(std::int32_t word, std::int32_t next) const;
  // Returns the mean loss in nats of who knows the language and reads a sequence from its first word on,
  // which is only read. The mean over many sequences is least_loss(). REQUIRES: two words of the language, or
  // more.
  double loss_of(std::span<const std::int32_t> words) const;

  // Returns the entropy rate in nats a word: the entropy of the next word, its state being known.
  double entropy_rate() const { return entropy_rate_; }
  // Returns the least mean loss of a step, in nats, on sequences of this length: the first step knows one
  // word alone, all others know the state.
  double least_loss(std::int64_t length) const;

 private:
  static constexpr std::uint32_t kMostNext = 8;

  std::uint32_t states() const { return groups_ * words_; }
  std::uint32_t count_of(State state) const { return counts_[state]; }  // of words but the full stop
  std::span<const std::uint32_t> next_of(State state) const {
    return {next_.data() + std::size_t{state} * kMostNext, count_of(state)};
  }
  void draw_words(std::uint64_t seed);
  void find_stationary();
  double entropy_after_word() const;

  const std::uint32_t words_, groups_;
  std::vector<std::uint8_t> counts_;  // by state
  std::vector<std::uint32_t> next_;   // kMostNext a state
  std::vector<double> stationary_;    // by state; the sum is 1
  std::vector<double> up_to_;         // stationary_ summed up to and with a state
  double entropy_rate_ = 0, first_entropy_ = 0;
};

// Sequences of a language, each of which begins in the stationary distribution. One depends on (seed, split,
// index).
Dataset make_language(std::uint64_t seed, const SequenceOptions& options);

}  // namespace trainyard::data
