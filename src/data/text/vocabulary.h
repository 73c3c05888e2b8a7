#pragma once

#include <unordered_map>

#include "base/standard.h"

namespace trainyard::data {

using Token = std::uint32_t;

// Words are what byte pairs are counted and merged in: a run of letters, of digits or of other signs, each
// with one space before it if there is one, or a run of white space. Bytes from 128 on are letters, so that a
// word in UTF-8 stays whole. A text is its words, one behind the other.
//
// Returns the bytes of the first word of a text, at most kMostWordBytes. REQUIRES: the text is not empty.
std::size_t first_word(std::string_view text);
inline constexpr std::size_t kMostWordBytes = 256;

// A Vocabulary is a list of tokens, each a string of bytes: the 256 bytes, then pairs of earlier tokens that
// were merged, in the order of their merging.
class Vocabulary {
 public:
  static constexpr Token kBytes = 256;
  static constexpr std::int64_t kMost = std::int64_t{1} << 24;

  struct Merge {
    Token first, second;
    friend bool operator==(const Merge&, const Merge&) = default;
  };

  Vocabulary() = default;
  // REQUIRES: each merge is of tokens before it, and makes no more than kMostWordBytes.
  explicit Vocabulary(std::vector<Merge> merges);

  Token size() const { return kBytes + static_cast<Token>(merges_.size()); }
  const std::vector<Merge>& merges() const { return merges_; }
  // Returns the token that a merge of two makes; nothing when there is none.
  std::optional<Token> merged(Merge pair) const;
  // REQUIRES: token < size().
  std::string_view bytes_of(Token token) const;
  // Returns the bytes of tokens, which are those that were encoded. Error (config) for one that is not below
  // size().
  std::string decode(std::span<const Token> tokens) const;

 private:
  std::vector<Merge> merges_;
  std::unordered_map<std::uint64_t, Token> of_pair_;
  std::string bytes_;                 // of all tokens behind the first 256, one behind the other
  std::vector<std::size_t> ends_{0};  // in `bytes_`
};

// Writes docs/formats/datasets.md's vocabulary.json and returns the CRC-32C of the file.
std::uint32_t write_vocabulary(const Vocabulary& vocabulary, const std::filesystem::path& file);
// Error (config) names the file, what was found and what is expected.
Vocabulary read_vocabulary(const std::filesystem::path& file);

// An Encoder turns text into tokens: within a word it merges the pair that comes first in the vocabulary,
// again and again. It remembers words. `vocabulary` must outlive it.
class Encoder {
 public:
  explicit Encoder(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  // Adds the tokens of the text's first word to `tokens`; returns the bytes of the word.
  std::size_t add_first_word(std::string_view text, std::vector<Token>& tokens);
  std::vector<Token> encode(std::string_view text);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library looks for it
  };

  std::vector<Token> merge(std::string_view word) const;

  const Vocabulary& vocabulary_;
  std::unordered_map<std::string, std::vector<Token>, Hash, std::equal_to<>> known_;
};

}  // namespace trainyard::data
