#include "data/text/token_file.h"

#include <bit>

#include "base/crc32c.h"
#include "base/error.h"

namespace trainyard::data {

static_assert(std::endian::native == std::endian::little, "the files are little-endian, and are mapped");

namespace {

constexpr std::string_view kMagic = "TYTOKENS";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kMostNarrow = 65536;  // tokens that 16 bits tell apart

// The header as it lies in the file.
struct StoredHeader {
  std::array<char, 8> magic;
  std::uint32_t version, width, vocabulary, vocabulary_sum;
  std::int64_t tokens;
  std::uint32_t sum;  // CRC-32C of the whole file, with zero in this place
  std::uint32_t zero;
};
constexpr std::int64_t kHeaderBytes = 40;
static_assert(sizeof(StoredHeader) == kHeaderBytes);

std::uint32_t sum_of(StoredHeader header, std::span<const std::byte> tokens) {
  header.sum = 0;
  return crc32c(tokens, crc32c(&header, sizeof(header)));
}

StoredHeader stored_header(const MappedFile& file, const std::string& name) {
  if (file.bytes() < kHeaderBytes)
    fail(ErrorKind::config, "'{}': {} bytes, at least {} expected: the header of a file of tokens", name,
         file.bytes(), kHeaderBytes);
  StoredHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  return header;
}

TokenFileHeader check_header(const MappedFile& file, const std::filesystem::path& path) {
  const std::string name = path.string();
  const StoredHeader stored = stored_header(file, name);
  if (std::string_view(stored.magic.data(), stored.magic.size()) != kMagic)
    fail(ErrorKind::config, "'{}': does not begin with '{}', so it is no file of tokens", name, kMagic);
  if (stored.version != kVersion)
    fail(ErrorKind::config, "'{}': version {} of a file of tokens, {} expected", name, stored.version,
         kVersion);
  const std::uint32_t width = stored.vocabulary <= kMostNarrow ? 2 : 4;
  if (stored.vocabulary == 0 || stored.vocabulary > Vocabulary::kMost)
    fail(ErrorKind::config, "'{}': vocabulary {}, 1 to {} expected", name, stored.vocabulary,
         Vocabulary::kMost);
  if (stored.width != width)
    fail(ErrorKind::config, "'{}': {} bytes a token, {} expected for vocabulary {}", name, stored.width,
         width, stored.vocabulary);
  const std::int64_t found = (file.bytes() - kHeaderBytes) / width;
  if (stored.tokens != found || (file.bytes() - kHeaderBytes) % width != 0)
    fail(ErrorKind::config, "'{}': {} bytes; a header of {} and {} tokens of {} expected", name, file.bytes(),
         kHeaderBytes, stored.tokens, width);
  return {stored.width, stored.vocabulary, stored.vocabulary_sum, stored.tokens};
}

// The tokens begin where both widths are aligned.
template <typename Width>
std::span<const Width> tokens_of(const MappedFile& file, const TokenFileHeader& header) {
  return {reinterpret_cast<const Width*>(file.data() + kHeaderBytes),
          static_cast<std::size_t>(header.tokens)};
}

template <typename Width>
void want_in_vocabulary(std::span<const Width> tokens, std::uint32_t vocabulary, const std::string& name) {
  const auto largest = std::max_element(tokens.begin(), tokens.end());
  if (largest != tokens.end() && *largest >= vocabulary)
    fail(ErrorKind::config, "'{}': token {} at place {}, one below the vocabulary {} expected", name,
         *largest, largest - tokens.begin(), vocabulary);
}

}  // namespace

void write_tokens(const std::filesystem::path& file, std::span<const Token> tokens, std::uint32_t vocabulary,
                  std::uint32_t vocabulary_sum) {
  const bool narrow = vocabulary <= kMostNarrow;
  std::vector<std::uint16_t> halves;
  if (narrow) halves.assign(tokens.begin(), tokens.end());
  const std::span<const std::byte> bytes = narrow ? std::as_bytes(std::span(halves)) : std::as_bytes(tokens);
  StoredHeader header{.magic = {},
                      .version = kVersion,
                      .width = narrow ? 2u : 4u,
                      .vocabulary = vocabulary,
                      .vocabulary_sum = vocabulary_sum,
                      .tokens = std::ssize(tokens),
                      .sum = 0,
                      .zero = 0};
  std::copy(kMagic.begin(), kMagic.end(), header.magic.begin());
  header.sum = sum_of(header, bytes);
  AtomicFile output(file);
  output.write(&header, sizeof(header));
  output.write(bytes.data(), bytes.size());
  output.commit();
}

TokenFileHeader read_token_header(const std::filesystem::path& file) {
  return check_header(MappedFile(file), file);
}

TokenFile::TokenFile(const std::filesystem::path& file) : file_(file), header_(check_header(file_, file)) {
  const std::string name = file.string();
  const StoredHeader stored = stored_header(file_, name);
  // A file that another program wrote may be whole and have such tokens: they are named first.
  if (header_.width == 2)
    want_in_vocabulary(tokens_of<std::uint16_t>(file_, header_), header_.vocabulary, name);
  else
    want_in_vocabulary(tokens_of<std::uint32_t>(file_, header_), header_.vocabulary, name);
  const std::uint32_t sum = sum_of(
      stored,
      std::as_bytes(std::span(file_.data(), static_cast<std::size_t>(file_.bytes()))).subspan(kHeaderBytes));
  if (sum != stored.sum)
    fail(ErrorKind::config, "'{}': CRC-32C {:08x}, {:08x} expected: the file is damaged", name, sum,
         stored.sum);
}

void TokenFile::read(std::int64_t first, std::span<std::int32_t> tokens) const {
  if (header_.width == 2)
    std::copy_n(tokens_of<std::uint16_t>(file_, header_).begin() + first, tokens.size(), tokens.begin());
  else
    std::copy_n(tokens_of<std::uint32_t>(file_, header_).begin() + first, tokens.size(), tokens.begin());
}

}  // namespace trainyard::data
