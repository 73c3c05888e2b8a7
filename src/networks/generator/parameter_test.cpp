#include "networks/generator/parameter.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "networks/zoo/zoo.h"

namespace trainyard::networks::generator {
namespace {

const std::vector<Parameter> kTable{
    {"width", "", "16", 1, 64},
    {"blocks", "", "1", 1, 9, 3},
    {.name = "cell", .about = "", .fallback = "gru", .choices = {"gru", "lstm"}},
    {.name = "share", .about = "", .fallback = "0.25", .smallest = 0, .largest = 2, .is_fraction = true}};

std::string complaint(const Given& given) {
  try {
    Parameters("toy", kTable, given);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "accepted";
}

TEST(Parameters, WhatIsNotGivenIsTheTables) {
  const Parameters own("toy", kTable, {});
  EXPECT_EQ(own.number("width"), 16);
  EXPECT_EQ(own.numbers("blocks"), (std::vector<std::int64_t>{1, 1, 1}));
  EXPECT_EQ(own.word("cell"), "gru");
  const Parameters given("toy", kTable, {{"blocks", "2,3,4"}, {"cell", "lstm"}, {"width", "64"}});
  EXPECT_EQ(given.number("width"), 64);
  EXPECT_EQ(given.numbers("blocks"), (std::vector<std::int64_t>{2, 3, 4}));
  const std::vector<std::pair<std::string, std::string>> all{
      {"width", "64"}, {"blocks", "2,3,4"}, {"cell", "lstm"}, {"share", "0.25"}};
  EXPECT_EQ(given.all(), all);
  EXPECT_EQ(own.fraction("share"), 0.25);
  for (const auto& [text, number] : {std::pair{"0", 0.0}, {"1e-3", 0.001}, {"2", 2.0}})
    EXPECT_EQ(Parameters("toy", kTable, {{"share", text}}).fraction("share"), number);
}

TEST(Parameters, RefusesWithOptionValueAndWhatIsAllowed) {
  for (const char* width : {"0", "65", "-1", "1.5", "many", "", "99999999999999999999", "1,1"})
    EXPECT_EQ(complaint({{"width", width}}),
              std::string("width ") + width + ": network 'toy' takes a whole number from 1 to 64");
  EXPECT_EQ(complaint({{"blocks", "1,2"}}),
            "blocks 1,2: network 'toy' takes one whole number or 3 with commas, each from 1 to 9");
  EXPECT_EQ(complaint({{"cell", "grue"}}),
            "cell grue (did you mean 'gru'?): network 'toy' takes gru or lstm");
  EXPECT_EQ(complaint({{"depth", "1"}}),
            "depth 1: network 'toy' has no such parameter, but width, blocks, cell, share");
  for (const char* share : {"-0.1", "2.01", "", "nan", "inf", "half", "0.5x"})
    EXPECT_EQ(complaint({{"share", share}}),
              std::string("share ") + share + ": network 'toy' takes a number from 0 to 2");
}

TEST(Parameters, TablesOfTheZooAcceptTheirOwnDefaults) {
  int tables = 0;
  for (const NetworkInfo& network : all_networks()) {
    if (network.generator == nullptr) continue;
    ++tables;
    EXPECT_EQ(find_network(network.name, {}).input, network.input) << network.name;
    for (const Parameter& parameter : network.generator->parameters)
      EXPECT_NE(parameter.about, "") << parameter.name;
  }
  EXPECT_GE(tables, 2);
}

}  // namespace
}  // namespace trainyard::networks::generator
