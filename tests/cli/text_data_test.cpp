// Tests of text: `data pack text`, `data get` of a text, and training on tokens, texts and languages.

#include <cmath>
#include <fstream>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli_fixture.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

class TextDataTest : public CliTest {
 protected:
  Json printed_by(const std::string& arguments) const {
    const CommandResult result = run(arguments + " --json --quiet");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? parse_json(result.out) : Json::object();
  }

  void write_book(const std::string& name = "book.txt") const {
    std::ofstream book(work() / name);
    for (int i = 0; i < 600; ++i) book << "line " << i * i % 97 << " of a book that is no secret\n";
  }

  static constexpr const char* kRnn =
      "train --network rnn --cell gru --layers 1 --hidden 16 --length 10 --batch 8 --threads 1 --optimizer "
      "adam "
      "--lr 0.01 ";
};

TEST_F(TextDataTest, ATextIsPackedAndTrainedOn) {
  write_book();
  const Json packed = printed_by("data pack text book.txt --out tokens --vocabulary 300 --validation 0.2");
  EXPECT_EQ(packed["vocabulary"], 300);
  EXPECT_EQ(packed["bytes"], fs::file_size(work() / "book.txt"));
  EXPECT_GT(packed["bytes_per_token"].get<double>(), 2);
  const Json trained = printed_by(std::string(kRnn) + "--data tokens:tokens --epochs 8");
  EXPECT_EQ(trained["asked"]["vocabulary"], 300);
  EXPECT_EQ(trained["data"], "tokens:tokens");
  EXPECT_NEAR(trained["first_loss"].get<double>(), std::log(300.0), 0.3);
  EXPECT_LT(trained["test_loss"].get<double>(), 4);
  EXPECT_FALSE(trained.contains("least_loss"));
  const Json staged = printed_by(std::string(kRnn) +
                                 "--data tokens:tokens/ --steps 5 --staging local "
                                 "--staging-folder .");
  EXPECT_EQ(staged["staging_file_count"], 2);
  EXPECT_EQ(staged["test_loss"],
            printed_by(std::string(kRnn) + "--data tokens:tokens --steps 5")["test_loss"]);
  const Json wider = printed_by(std::string(kRnn) + "--data tokens:tokens --steps 5 --vocabulary 320");
  EXPECT_EQ(wider["asked"]["vocabulary"], 320);
  const CommandResult told = run("data pack text book.txt --to bytes --vocabulary 256");
  EXPECT_NE(told.out.find("1.000 bytes each, of a vocabulary of 256"), std::string::npos) << told.out;
}

TEST_F(TextDataTest, ALanguageSaysTheLeastLoss) {
  const std::string arguments = std::string(kRnn) + "--data language:3 --vocabulary 20 --steps ";
  const Json trained = printed_by(arguments + "400");
  const auto least = trained["least_loss"].get<double>(), loss = trained["test_loss"].get<double>();
  const auto of_tests = trained["least_test_loss"].get<double>();
  EXPECT_NEAR(of_tests, least, 0.02 * least);
  EXPECT_GT(loss, of_tests);
  EXPECT_LT(loss, 0.5 * (least + std::log(20.0)));
  const CommandResult told = run(arguments + "2");
  EXPECT_NE(told.out.find("least loss "), std::string::npos) << told.out;
  EXPECT_NE(told.out.find(" on the test sequences\n"), std::string::npos) << told.out;
  EXPECT_FALSE(printed_by(arguments + "2 --no-eval").contains("least_test_loss"));
  EXPECT_NE(told.err.find("no network has a smaller mean loss than"), std::string::npos) << told.err;
}

TEST_F(TextDataTest, ABookOfAKnownNameIsReadFromTheCache) {
  write_book("moby-dick.txt");
  expect_failure(std::string(kRnn) + "--data moby-dick", 1, "run 'trainyard data get moby-dick' first");
  expect_failure("data pack text moby-dick --out x", 1, "run 'trainyard data get moby-dick' first");
  const CommandResult got = run("data get moby-dick --from .");
  EXPECT_NE(got.out.find(" test bytes of text, "), std::string::npos) << got.out << got.err;
  EXPECT_NE(run("data list").out.find(" text "), std::string::npos);
  const Json trained = printed_by(std::string(kRnn) + "--data moby-dick --steps 20");
  EXPECT_EQ(trained["asked"]["vocabulary"], 256);
  EXPECT_EQ(printed_by("data pack text moby-dick --out tokens")["bytes"],
            fs::file_size(work() / "moby-dick.txt"));
  expect_failure("data pack moby-dick --to x", 1, "is neither a folder nor one of mnist, cifar10, synthetic");
  expect_failure("train --network lenet --data moby-dick", 1, "network 'lenet' reads images");
}

TEST_F(TextDataTest, Mistakes) {
  write_book();
  std::ofstream(work() / "empty").flush();
  expect_failure("data pack text empty --out x", 1, "'empty': 0 bytes make 0 tokens to train on");
  expect_failure("data pack text none --out x", 1, "'none' is not a file");
  expect_failure("data pack text book.txt", 1, "--out");
  expect_failure("data pack text book.txt --out x --vocabulary 255", 1, "--vocabulary: '255' given");
  expect_failure("data pack text book.txt --out x --validation 1", 1, "--validation: '1' given");
  expect_failure("data pack --to x", 1, "SOURCE is required");
  expect_failure(std::string(kRnn) + "--data text:empty", 1, "'empty': 0 bytes, at least 21 expected");
  expect_failure(std::string(kRnn) + "--data tokens:none", 1, "'none': no file 'train.tokens'");
  expect_failure(std::string(kRnn) + "--data language:x", 1, "'language:x': a seed expected");
  expect_failure(std::string(kRnn) + "--data language:1 --staging local", 1, "'language:1' has no files");
  expect_failure(std::string(kRnn) + "--data language:1 --vocabulary 100000", 1,
                 "--vocabulary 100000: a language has 2 to 65536 words");
  EXPECT_FALSE(fs::exists(work() / "x"));
  ASSERT_EQ(run("data pack text book.txt --out tokens --vocabulary 300").exit_code, 0);
  const std::string train = std::string(kRnn) + "--data tokens:tokens";
  expect_failure(train + " --vocabulary 299", 1,
                 "--vocabulary 299 is too small: 'tokens/train.tokens' has a vocabulary of 300");
  expect_failure("train --network rnn --length 65000 --data tokens:tokens", 1,
                 "tokens, at least 65001 expected: a sequence of 65000 steps");
  const fs::path file = work() / "tokens" / "validation.tokens";
  const std::vector<std::byte> whole = read_file(file);
  fs::resize_file(file, whole.size() - 3);
  expect_failure(train, 1,
                 "'tokens/validation.tokens': " + std::to_string(whole.size() - 3) + " bytes; a header");
  std::ofstream(file, std::ios::binary) << "no tokens" << std::string(60, 'x');
  expect_failure(train, 1, "'tokens/validation.tokens': does not begin with 'TYTOKENS'");
}

TEST_F(TextDataTest, EncodersAreTrainedOnMaskedTokens) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "abcdefgh";
  std::ofstream(work() / "encoder.txt") << text;
  const std::string train =
      "train --network transformer --causal no --layers 1 --width 32 --heads 2 --length 32 --data "
      "text:encoder.txt --batch 8 ";
  const Json record = printed_by(train + "--optimizer adamw --lr 0.01 --steps 150 --out runs/encoder");
  EXPECT_EQ(record["asked"]["vocabulary"], 257);  // the bytes and the mask
  EXPECT_LT(record["test_loss"], 1.5);            // ln 8 = 2.08 for who looks at nothing
  EXPECT_LT(record["final_loss"], record["first_loss"]);
  expect_failure(train + "--preprocess next-token --steps 1", 1, "sees the tokens that it would have to say");
  expect_failure(train + "--vocabulary 104 --steps 1", 1, "has byte 104, and the last token is the mask");
  expect_failure("sample runs/encoder --prompt abc", 1, "makes no text");
}

TEST_F(TextDataTest, TrainedNetworksMakeText) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "abcdefgh";
  std::ofstream(work() / "letters.txt") << text;
  ASSERT_EQ(
      run("train --network transformer --layers 1 --width 32 --heads 2 --length 32 --data text:letters.txt "
          "--batch 8 --optimizer adamw --lr 0.01 --steps 60 --out runs/letters --quiet")
          .exit_code,
      0);
  // It has learned the order of the letters.
  const CommandResult likeliest = run("sample runs/letters --prompt abc --tokens 13 --temperature 0 --quiet");
  EXPECT_EQ(likeliest.exit_code, 0) << likeliest.err;
  EXPECT_EQ(likeliest.out, "defghabcdefgh\n");
  const std::string drawn = "sample runs/letters --prompt abc --temperature 5 --seed 3 --quiet --tokens 20";
  EXPECT_EQ(run(drawn).out, run(drawn).out);
  // The network has room for 32 tokens, and says one more behind them.
  const Json made = printed_by("sample runs/letters --prompt abc --tokens 500");
  EXPECT_EQ(made["tokens"], 30);
  EXPECT_EQ(made["prompt_tokens"], 3);
  EXPECT_GT(made["token_seconds"], 0.0);
  EXPECT_NE(run("sample nowhere").err.find("'nowhere' holds no checkpoint"), std::string::npos);
  const CommandResult long_prompt = run("sample runs/letters --prompt " + std::string(40, 'a'));
  EXPECT_EQ(long_prompt.exit_code, 1);
  EXPECT_NE(long_prompt.err.find("a prompt of 40 tokens: network 'transformer' has room for 32"),
            std::string::npos)
      << long_prompt.err;
}

}  // namespace
}  // namespace trainyard::cli_test
