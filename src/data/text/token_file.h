#pragma once

#include "base/file.h"
#include "data/text/vocabulary.h"

namespace trainyard::data {

// Describes a file of tokens: a header and the tokens, 16 bits each where the vocabulary fits, else 32
// (docs/formats/datasets.md).
struct TokenFileHeader {
  std::uint32_t width = 2;  // bytes of a token
  std::uint32_t vocabulary = 0;
  std::uint32_t vocabulary_sum = 0;  // CRC-32C of the file with the vocabulary
  std::int64_t tokens = 0;
};

// REQUIRES: all tokens are below `vocabulary`.
void write_tokens(const std::filesystem::path& file, std::span<const Token> tokens, std::uint32_t vocabulary,
                  std::uint32_t vocabulary_sum);

// Reads the header alone. Error (config) names the file, what was found and what is expected.
TokenFileHeader read_token_header(const std::filesystem::path& file);

// A TokenFile is a file of tokens, mapped. Thread-safe.
class TokenFile {
 public:
  // Passes over the whole file once. Error (config) as above for one that is cut short or too long, does not
  // agree with its checksum, or has a token that is not in the vocabulary.
  explicit TokenFile(const std::filesystem::path& file);

  const TokenFileHeader& header() const { return header_; }
  // REQUIRES: first + tokens.size() <= header().tokens.
  void read(std::int64_t first, std::span<std::int32_t> tokens) const;

 private:
  const MappedFile file_;
  const TokenFileHeader header_;
};

}  // namespace trainyard::data
