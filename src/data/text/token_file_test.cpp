#include "data/text/token_file.h"

#include "base/crc32c.h"
#include "base/test_folder.h"

namespace trainyard::data {
namespace {

class TokenFiles : public testing::Test {
 protected:
  std::string written(const std::vector<Token>& tokens, std::uint32_t vocabulary) const {
    write_tokens(file_, tokens, vocabulary, 77);
    const std::vector<std::byte> bytes = read_file(file_);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void expect_refused(const std::string& content, const std::string& part) const {
    folder_.write("train.tokens", content);
    expect_error(ErrorKind::config, part, [&] { TokenFile{file_}; });
    expect_error(ErrorKind::config, "train.tokens'", [&] { TokenFile{file_}; });
  }

  // As another program would write it, with a checksum that agrees.
  static std::string summed(std::string content) {
    content.replace(32, 4, 4, '\0');
    const std::uint32_t sum = crc32c(content.data(), content.size());
    content.replace(32, 4, reinterpret_cast<const char*>(&sum), 4);
    return content;
  }

  const TestFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "train.tokens";
};

TEST_F(TokenFiles, KeepTokensOfBothWidths) {
  for (const std::uint32_t vocabulary : {256u, 65536u, 65537u, 1u << 24}) {
    const std::vector<Token> tokens{0, 255, vocabulary - 1, 7, 8};
    const std::size_t width = vocabulary <= 65536 ? 2 : 4;
    EXPECT_EQ(written(tokens, vocabulary).size(), 40 + 5 * width);
    EXPECT_EQ(read_token_header(file_).tokens, 5);
    const TokenFile file(file_);
    EXPECT_EQ(file.header().vocabulary, vocabulary);
    EXPECT_EQ(file.header().vocabulary_sum, 77u);
    std::vector<std::int32_t> found(4);
    file.read(1, found);
    EXPECT_EQ(found, (std::vector<std::int32_t>{255, static_cast<std::int32_t>(vocabulary) - 1, 7, 8}));
  }
  written({}, 256);
  EXPECT_EQ(TokenFile(file_).header().tokens, 0);
}

TEST_F(TokenFiles, AreRefusedWhenTheyAreDamaged) {
  const std::string whole = written({1, 2, 3, 4}, 300);
  const auto with = [&](std::size_t place, const std::string& bytes) {
    return std::string(whole).replace(place, bytes.size(), bytes);
  };
  expect_refused("", "0 bytes, at least 40 expected");
  expect_refused(whole.substr(0, 39), "39 bytes, at least 40 expected");
  expect_refused(whole.substr(0, 46), "46 bytes; a header of 40 and 4 tokens of 2 expected");
  expect_refused(whole.substr(0, 47), "47 bytes; a header of 40 and 4 tokens of 2 expected");
  expect_refused(whole + "x", "49 bytes; a header of 40 and 4 tokens of 2 expected");
  expect_refused(with(0, "x"), "does not begin with 'TYTOKENS'");
  expect_refused(with(8, "\2"), "version 2 of a file of tokens, 1 expected");
  expect_refused(with(12, "\4"), "4 bytes a token, 2 expected for vocabulary 300");
  expect_refused(with(16, std::string(4, '\0')), "vocabulary 0, 1 to 16777216 expected");
  expect_refused(with(31, "\xff"), "a header of 40 and -");
  expect_refused(with(40, "\7"), "expected: the file is damaged");
  expect_refused(with(20, "\1"), "expected: the file is damaged");
  expect_refused(summed(with(44, "\x2c\1")), "token 300 at place 2, one below the vocabulary 300 expected");
}

}  // namespace
}  // namespace trainyard::data
