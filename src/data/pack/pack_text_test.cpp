#include "data/pack/pack_text.h"

#include "base/file.h"
#include "base/philox.h"
#include "base/test_folder.h"
#include "data/source/dataset.h"
#include "data/text/token_file.h"

namespace trainyard::data {
namespace {

std::string some_sentences(int count) {
  const std::array kWords{"whale", "ship", "sea", "captain", "harpoon", "42", "\u2014", "boat"};
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t word = Philox(5, 9).word(static_cast<std::uint64_t>(i));
    text += std::string(kWords[word % kWords.size()]) + (word % 11 == 0 ? ".\n" : " ");
  }
  return text;
}

class PackText : public testing::Test {
 protected:
  PackedText packed(const std::string& text, std::int64_t vocabulary, double validation = 0.1) const {
    return pack_text({folder_.write("text", text), to_, vocabulary, validation});
  }

  std::string decoded(const char* name) const {
    const TokenFile file(to_ / name);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(file.header().tokens));
    file.read(0, tokens);
    return read_vocabulary(to_ / "vocabulary.json").decode(std::vector<Token>(tokens.begin(), tokens.end()));
  }

  const TestFolder folder_;
  const std::filesystem::path to_ = folder_.path() / "tokens";
};

TEST_F(PackText, WritesBothPartsOfTheText) {
  const std::string text = some_sentences(5000);
  const PackedText result = packed(text, 280);
  EXPECT_EQ(result.vocabulary, 280);
  EXPECT_EQ(result.bytes, std::ssize(text));
  EXPECT_NEAR(static_cast<double>(result.train_bytes), 0.9 * static_cast<double>(text.size()), 10);
  EXPECT_LT(result.train_tokens, result.train_bytes / 2);
  EXPECT_EQ(decoded("train.tokens") + decoded("validation.tokens"), text);
  EXPECT_EQ(read_token_header(to_ / "train.tokens").tokens, result.train_tokens);
}

TEST_F(PackText, IsTheSameAgain) {
  const std::string text = some_sentences(1000);
  packed(text, 400, 0.25);
  std::vector<std::vector<std::byte>> first;
  for (const char* name : {"vocabulary.json", "train.tokens", "validation.tokens"})
    first.push_back(read_file(to_ / name));
  packed(text, 400, 0.25);
  for (const char* name : {"vocabulary.json", "train.tokens", "validation.tokens"}) {
    EXPECT_EQ(read_file(to_ / name), first.front()) << name;
    first.erase(first.begin());
  }
}

TEST_F(PackText, PlainBytesAndAnyBytesComeBack) {
  std::string text;
  for (std::uint64_t i = 0; i < 20'000; ++i)
    text += static_cast<char>(Philox(1, 2).word(i) % (i % 7 ? 256 : 3));
  for (const std::int64_t vocabulary : {256, 5000}) {
    const PackedText result = packed(text, vocabulary);
    EXPECT_EQ(decoded("train.tokens") + decoded("validation.tokens"), text);
    if (vocabulary == 256) {
      EXPECT_EQ(result.train_tokens + result.validation_tokens, 20'000);
    }
  }
}

TEST_F(PackText, RefusesATextThatIsTooShort) {
  expect_error(ErrorKind::config, "0 bytes make 0 tokens to train on and 0 for evaluation, at least 2 each",
               [&] { packed("", 280); });
  expect_error(ErrorKind::config, "text': 3 bytes make", [&] { packed("a b", 280); });
  expect_error(ErrorKind::config, "none' is not a file", [&] { pack_text({folder_.path() / "none", to_}); });
  EXPECT_FALSE(std::filesystem::exists(to_));
}

TEST_F(PackText, TokensAreADataSet) {
  const std::string text = some_sentences(3000);
  const PackedText result = packed(text, 280, 0.2);
  const auto load = [&](std::int64_t length, std::int64_t vocabulary) {
    return load_dataset({.name = "tokens:" + to_.string(), .tokens = SequenceOptions{length, vocabulary}});
  };
  const Dataset dataset = load(16, 280);
  EXPECT_EQ(dataset.name, "tokens:tokens");
  EXPECT_EQ(dataset.size(Split::train), (result.train_tokens - 1) / 16);
  EXPECT_EQ(dataset.size(Split::test), (result.validation_tokens - 1) / 16);
  std::string together;
  std::int32_t last = -1;
  for (std::int64_t i = 0; i < dataset.size(Split::train); ++i) {
    SampleSource::Scratch scratch;
    const Sample sample = dataset.train.source()->read(i, scratch);
    EXPECT_EQ(sample.label, 16);
    const auto* tokens = reinterpret_cast<const std::int32_t*>(sample.bytes.data());
    if (i > 0) {
      EXPECT_EQ(tokens[0], last);
    }
    last = tokens[16];
    together += read_vocabulary(to_ / "vocabulary.json").decode(std::vector<Token>(tokens, tokens + 16));
  }
  EXPECT_EQ(text.substr(0, together.size()), together);
  EXPECT_EQ(vocabulary_of("tokens:" + to_.string()), 280);
  EXPECT_NO_THROW(load(16, 512));
  expect_error(ErrorKind::usage, "vocabulary 256 is too small: '", [&] { load(16, 256); });
  expect_error(ErrorKind::config, "at least 100001 expected", [&] { load(100'000, 280); });
}

TEST_F(PackText, FilesOfTwoPacksAreNotMixed) {
  packed(some_sentences(3000), 280);
  const std::filesystem::path kept = folder_.path() / "kept";
  std::filesystem::rename(to_ / "validation.tokens", kept);
  packed(std::string(400, 'z') + some_sentences(3000), 280);
  std::filesystem::rename(kept, to_ / "validation.tokens");
  const auto load = [&] { load_tokens(to_, {16, 280}); };
  expect_error(ErrorKind::config, "validation.tokens' has another vocabulary (280 tokens, sum ", load);
  std::filesystem::remove(to_ / "validation.tokens");
  expect_error(ErrorKind::config, "tokens': no file 'validation.tokens'", load);
}

}  // namespace
}  // namespace trainyard::data
