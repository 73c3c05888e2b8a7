#include "data/text/vocabulary.h"

#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace trainyard::data {

namespace {

enum class Sign : std::uint8_t { letter, digit, space, other };

// No function of the C library: what it calls a letter depends on the locale.
Sign sign_of(char character) {
  const auto byte = static_cast<unsigned char>(character);
  if (byte >= 128 || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')) return Sign::letter;
  if (byte >= '0' && byte <= '9') return Sign::digit;
  return byte == ' ' || (byte >= '\t' && byte <= '\r') ? Sign::space : Sign::other;
}

std::size_t run_of_one_sign(std::string_view text) {
  const Sign sign = sign_of(text.front());
  std::size_t bytes = 1;
  while (bytes < std::min(text.size(), kMostWordBytes) && sign_of(text[bytes]) == sign) ++bytes;
  return bytes;
}

std::uint64_t key_of(Vocabulary::Merge pair) { return std::uint64_t{pair.first} << 32 | pair.second; }

// The 256 bytes in their order.
const std::array<char, 256> kAllBytes = [] {
  std::array<char, 256> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}();

}  // namespace

std::size_t first_word(std::string_view text) {
  const std::size_t run = run_of_one_sign(text);
  if (sign_of(text.front()) != Sign::space || run == text.size() || text[run - 1] != ' ' ||
      sign_of(text[run]) == Sign::space)
    return run;
  // The last space of a run belongs to the word behind it.
  if (run > 1) return run - 1;
  return std::min(1 + run_of_one_sign(text.substr(1)), kMostWordBytes);
}

Vocabulary::Vocabulary(std::vector<Merge> merges) : merges_(std::move(merges)) {
  of_pair_.reserve(merges_.size());
  ends_.reserve(merges_.size() + 1);
  Token token = kBytes;
  for (const Merge& merge : merges_) {
    TRAINYARD_CHECK(merge.first < token && merge.second < token);
    // A copy: the view that bytes_of() returns would move with the bytes that it is added to.
    const std::string bytes = std::string(bytes_of(merge.first)).append(bytes_of(merge.second));
    TRAINYARD_CHECK(bytes.size() <= kMostWordBytes);
    bytes_ += bytes;
    ends_.push_back(bytes_.size());
    of_pair_.emplace(key_of(merge), token++);
  }
}

std::optional<Token> Vocabulary::merged(Merge pair) const {
  const auto found = of_pair_.find(key_of(pair));
  return found == of_pair_.end() ? std::nullopt : std::optional(found->second);
}

std::string_view Vocabulary::bytes_of(Token token) const {
  if (token < kBytes) return {kAllBytes.data() + token, 1};
  const std::size_t merge = token - kBytes;
  return std::string_view(bytes_).substr(ends_[merge], ends_[merge + 1] - ends_[merge]);
}

std::string Vocabulary::decode(std::span<const Token> tokens) const {
  std::string text;
  for (const Token token : tokens) {
    if (token >= size()) fail(ErrorKind::config, "token {}, one below {} expected", token, size());
    text += bytes_of(token);
  }
  return text;
}

namespace {

constexpr int kSchema = 1;
constexpr const char* kKind = "byte pairs";

}  // namespace

std::uint32_t write_vocabulary(const Vocabulary& vocabulary, const std::filesystem::path& file) {
  Json merges = Json::array();
  for (const Vocabulary::Merge& merge : vocabulary.merges()) merges.push_back({merge.first, merge.second});
  const Json json{
      {"schema", kSchema}, {"kind", kKind}, {"vocabulary", vocabulary.size()}, {"merges", merges}};
  const std::string text = json_text(json) + "\n";
  AtomicFile output(file);
  output.write(text);
  output.commit();
  return crc32c(text.data(), text.size());
}

namespace {

std::vector<Vocabulary::Merge> merges_in(const Json& list, const std::string& file) {
  std::vector<Vocabulary::Merge> merges;
  std::vector<std::size_t> bytes;  // of each merge's token
  std::set<std::uint64_t> seen;
  for (const Json& pair : list) {
    const std::int64_t token = Vocabulary::kBytes + std::ssize(merges);
    const auto part = [&](std::size_t which) {
      const Json& number = pair.at(which);
      if (!number.is_number_integer() || number.get<std::int64_t>() < 0 ||
          number.get<std::int64_t>() >= token)
        fail(ErrorKind::config, "'{}': token {} is a merge of {}, two tokens below {} expected", file, token,
             json_text(pair), token);
      return number.get<Token>();
    };
    const auto length = [&](Token of) {
      return of < Vocabulary::kBytes ? 1 : bytes[of - Vocabulary::kBytes];
    };
    if (!pair.is_array() || pair.size() != 2)
      fail(ErrorKind::config, "'{}': token {} is a merge of {}, two tokens expected", file, token,
           json_text(pair).substr(0, 40));
    merges.push_back({part(0), part(1)});
    bytes.push_back(length(merges.back().first) + length(merges.back().second));
    if (bytes.back() > kMostWordBytes)
      fail(ErrorKind::config, "'{}': token {} has {} bytes, at most {} expected", file, token, bytes.back(),
           kMostWordBytes);
    if (!seen.insert(key_of(merges.back())).second)
      fail(ErrorKind::config, "'{}': token {} merges {} again, each pair once expected", file, token,
           json_text(pair));
  }
  return merges;
}

}  // namespace

Vocabulary read_vocabulary(const std::filesystem::path& file) {
  const std::string name = file.string();
  try {
    const Json json = read_json(file);
    if (!json.is_object() || json.value("schema", 0) != kSchema || json.value("kind", "") != kKind)
      fail(ErrorKind::config, "'{}': no vocabulary; schema {} and kind '{}' expected", name, kSchema, kKind);
    Vocabulary vocabulary(merges_in(json.at("merges"), name));
    if (json.at("vocabulary") != vocabulary.size())
      fail(ErrorKind::config, "'{}': vocabulary {} with {} merges, {} expected", name,
           json_text(json.at("vocabulary")).substr(0, 40), vocabulary.merges().size(), vocabulary.size());
    return vocabulary;
  } catch (const Json::Error& error) {
    fail(ErrorKind::config, "'{}': no vocabulary, JSON with 'vocabulary' and 'merges' expected: {}", name,
         error.what());
  }
}

std::vector<Token> Encoder::merge(std::string_view word) const {
  std::vector<Token> tokens;
  for (const char byte : word) tokens.push_back(static_cast<unsigned char>(byte));
  for (;;) {
    // Tokens are numbered in the order of merging.
    Token least = std::numeric_limits<Token>::max();
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
      least = std::min(least, vocabulary_.merged({tokens[i], tokens[i + 1]}).value_or(least));
    if (least == std::numeric_limits<Token>::max()) return tokens;
    const Vocabulary::Merge pair = vocabulary_.merges()[least - Vocabulary::kBytes];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool both = i + 1 < tokens.size() && tokens[i] == pair.first && tokens[i + 1] == pair.second;
      tokens[kept++] = both ? least : tokens[i];
      if (both) ++i;
    }
    tokens.resize(kept);
  }
}

std::size_t Encoder::add_first_word(std::string_view text, std::vector<Token>& tokens) {
  constexpr std::size_t kMostKnown = 1'000'000;  // some hundred megabytes
  const std::string_view word = text.substr(0, first_word(text));
  auto found = known_.find(word);
  if (found == known_.end()) {
    if (known_.size() == kMostKnown) known_.clear();
    found = known_.emplace(word, merge(word)).first;
  }
  tokens.insert(tokens.end(), found->second.begin(), found->second.end());
  return word.size();
}

std::vector<Token> Encoder::encode(std::string_view text) {
  std::vector<Token> tokens;
  while (!text.empty()) text.remove_prefix(add_first_word(text, tokens));
  return tokens;
}

}  // namespace trainyard::data
