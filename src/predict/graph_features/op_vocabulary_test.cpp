#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "predict/graph_features/op_vocabulary.h"

namespace trainyard::predict {
namespace {

TEST(OpVocabulary, CountsACorpusAndComesBackFromItsFile) {
  OpVocabulary corpus;
  corpus.add({.name = "a", .nodes = {{.name = "1", .type = "conv"}, {.name = "2", .type = "relu"}}});
  corpus.add({.name = "b", .nodes = {{.name = "1", .type = "conv"}, {.name = "2", .type = "conv"}}});
  EXPECT_EQ(corpus.total(), 4);
  EXPECT_EQ(corpus.count("conv"), 3);
  EXPECT_DOUBLE_EQ(corpus.frequency("relu"), 0.25);
  EXPECT_EQ(corpus.number("pool"), OpVocabulary::kUnknownOp);
  EXPECT_EQ(corpus.frequency("pool"), 0);
  EXPECT_EQ(corpus.to_csv(), "operation,count\nconv,3\nrelu,1\n");
  const OpVocabulary back = OpVocabulary::from_csv(corpus.to_csv(), "test");
  EXPECT_EQ(back.to_csv(), corpus.to_csv());
  EXPECT_EQ(back.type(back.number("relu")), "relu");
  EXPECT_EQ(back.size(), 3);
}

TEST(OpVocabulary, SharesBecomeWholeNumbers) {
  EXPECT_EQ(whole_numbers({0.5, 0.25, 0.25}), (std::vector<std::int64_t>{2, 1, 1}));
  EXPECT_EQ(whole_numbers({1306.0 / 117816, 20565.0 / 117816, (117816.0 - 1306 - 20565) / 117816}),
            (std::vector<std::int64_t>{1306, 20565, 117816 - 1306 - 20565}));
  EXPECT_TRUE(whole_numbers({0.5, 0.4}).empty());
  EXPECT_TRUE(whole_numbers({1 / 3.14159265358979, 1 - 1 / 3.14159265358979}, 1000).empty());
  const OpVocabulary read =
      OpVocabulary::from_csv("Operation,Frequency\r\nConv2D,0.75\r\nRelu,0.25\r\n", "test");
  EXPECT_EQ(read.count("Conv2D"), 3);
}

TEST(OpVocabulary, MistakesSayTheirLine) {
  const auto read = [](const std::string& text) {
    return [text] { OpVocabulary::from_csv(text, "'v.csv'"); };
  };
  expect_error(ErrorKind::config, "no op in it", read("operation,count\n"));
  expect_error(ErrorKind::config, "'v.csv':2: ", read("operation,count\nconv\n"));
  expect_error(ErrorKind::config, "'v.csv':2: ", read("conv,1\nrelu,many\n"));
  expect_error(ErrorKind::config, "'conv' is there twice", read("conv,1\nconv,2\n"));
  expect_error(ErrorKind::config, "no whole numbers", read("conv,0.3\nrelu,0.3\n"));
}

}  // namespace
}  // namespace trainyard::predict
