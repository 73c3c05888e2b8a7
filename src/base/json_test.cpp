#include "base/json.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard {
namespace {

TEST(Json, IsAnObjectOfPairsAndAnArrayOfAnythingElse) {
  EXPECT_EQ(json_text(Json{{"b", 1}, {"a", {1, 2.5, "x"}}, {"none", nullptr}}),
            R"({"b":1,"a":[1,2.5,"x"],"none":null})");
  EXPECT_EQ(json_text(Json{{"b", 1}, 2}), R"([["b",1],2])");
  EXPECT_EQ(json_text(Json::array({{"b", 1}})), R"([["b",1]])");
  EXPECT_EQ(json_text(Json(std::map<std::string, std::vector<double>>{{"x", {0.1, 3}}})),
            R"({"x":[0.1,3.0]})");
  EXPECT_EQ(json_text(Json(std::vector<bool>{true, false})), "[true,false]");
  EXPECT_EQ(json_text(Json(std::filesystem::path("a/b"))), R"("a/b")");
  EXPECT_THROW(Json::object({1, 2}), Json::Error);
}

TEST(Json, NullBecomesWhatIsAddedToIt) {
  Json object, array;
  object["x"]["y"] = 7;
  array.push_back({{"k", true}});
  array[2] = 1.5;
  EXPECT_EQ(json_text(object), R"({"x":{"y":7}})");
  EXPECT_EQ(json_text(array), R"([{"k":true},null,1.5])");
  EXPECT_THROW(object.push_back(1), Json::Error);
  EXPECT_THROW(array["k"] = 1, Json::Error);
}

TEST(Json, FindsMembersWhetherTheyAreFewOrMany) {
  for (const int members : {3, 16, 17, 18, 500}) {
    Json json = Json::object();
    for (int i = members; i-- > 0;) json[fmt::format("k{}", i)] = i;
    for (int i = 0; i < members; ++i) EXPECT_EQ(std::as_const(json)[fmt::format("k{}", i)], i) << members;
    EXPECT_FALSE(json.contains("k"));
    EXPECT_EQ(json.begin().key(), fmt::format("k{}", members - 1)) << "the first that was added";
    EXPECT_TRUE(json.erase("k1"));
    EXPECT_FALSE(json.erase("k1"));
    EXPECT_FALSE(json.contains("k1"));
    EXPECT_EQ(json.at("k0"), 0);
    Json copy = json;
    copy["k2"] = -2;
    EXPECT_EQ(json["k2"], 2) << "a copy has members of its own";
    EXPECT_EQ(json.size(), static_cast<std::size_t>(members) - 1);
  }
}

TEST(Json, IsEqualByNumberAndInAnyOrderOfMembers) {
  EXPECT_EQ(Json(1), Json(1.0));
  EXPECT_EQ(Json(1u), Json(1));
  EXPECT_NE(Json(-1), Json(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_NE(Json(1), Json(true));
  EXPECT_EQ((Json{{"a", 1}, {"b", 2}}), (Json{{"b", 2}, {"a", 1}}));
  EXPECT_NE(Json({1, 2}), Json({2, 1}));
  EXPECT_NE(Json::discarded(), Json::discarded());
  EXPECT_LT(Json(1), Json(1.5));
  EXPECT_LT(Json("a"), Json("b"));
  EXPECT_FALSE(Json("a") < Json(1) || Json("a") > Json(1)) << "texts and numbers have no order";
}

TEST(Json, SaysWhatIsNotThereOrOfAnotherKind) {
  const Json json{{"text", "x"}, {"list", {1, 2}}, {"small", -3}, {"off", false}};
  EXPECT_EQ(json.value("text", ""), "x");
  EXPECT_EQ(json.value("other", 4.5), 4.5);
  EXPECT_EQ(json["other"], nullptr);
  EXPECT_EQ(json["list"].get<std::vector<int>>(), (std::vector{1, 2}));
  EXPECT_EQ(json["small"].get<double>(), -3);
  EXPECT_FALSE(json["off"].get<bool>());
  const auto told = [](const auto& use) -> std::string {
    try {
      use();
    } catch (const Json::Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(told([&] { json.at("other"); }), "key 'other' not found");
  EXPECT_EQ(told([&] { json["list"].at(2); }), "element 2 of 2 is not there");
  EXPECT_EQ(told([&] { json["text"].get<double>(); }), "should be a number, is a text");
  EXPECT_EQ(told([&] { json["list"].get<bool>(); }), "should be a boolean, is an array");
}

TEST(Json, WhatIsTakenOfATemporaryOutlivesIt) {
  std::string seen;
  for (const Json& one :
       parse_json(R"({"rows": [{"name": "a long name of the first"}, {"name": "b"}]})").at("rows"))
    seen += one.at("name").get<std::string>() + ";";
  EXPECT_EQ(seen, "a long name of the first;b;");
  const Json& first = parse_json("[[7]]")[0];
  EXPECT_EQ(first[0], 7);
}

TEST(Json, ComesBackFromItsText) {
  const std::string text =
      R"({"z":[1,-2,18446744073709551615,1e+100,0.1,1.0],"a":{"":"\u0001\"é"},"n":null,"t":true})";
  EXPECT_EQ(json_text(parse_json(text)), text);
  std::istringstream stream(text);
  EXPECT_EQ(json_text(parse_json(stream, nullptr)), text);
  EXPECT_EQ(json_text(parse_json(R"({"a":1,"b":2,"a":3})")), R"({"a":3,"b":2})");
  EXPECT_EQ(json_text(Json{{"a", {1}}}, 2), "{\n  \"a\": [\n    1\n  ]\n}");
  EXPECT_EQ(json_text(Json("\xff")), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(json_text(Json(std::nan(""))), "null");
  const TestFolder folder;
  std::ofstream(folder.path() / "x.json") << text;
  EXPECT_EQ(read_json(folder.path() / "x.json"), parse_json(text));
}

TEST(Json, SaysWhereATextIsNone) {
  try {
    parse_json("{\"a\": 1,}");
    ADD_FAILURE() << "it was taken";
  } catch (const Json::SyntaxError& error) {
    EXPECT_EQ(error.byte, 9u);
    EXPECT_NE(std::string(error.what()).find("line 1, column 9"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(parse_json_or_discard("[1").is_discarded());
  EXPECT_FALSE(is_json("[1"));
  EXPECT_TRUE(is_json("[1]"));
  EXPECT_THROW(parse_json(std::string(100'000, '[')), Json::SyntaxError);
  EXPECT_TRUE(parse_json_or_discard(std::string(100'000, '[') + std::string(100'000, ']')).is_discarded());
}

TEST(Json, AListenerHearsAndLeavesOut) {
  std::string heard;
  const JsonListener listener = [&](int depth, JsonEvent event, const Json& value) {
    const char* const names[] = {"{", "}", "[", "]", "key", "value"};
    heard += fmt::format("{}{} ", depth, names[static_cast<std::size_t>(event)]);
    if (event == JsonEvent::key) return value != "dropped";
    return !(event == JsonEvent::value && value == 2) &&
           !(event == JsonEvent::object_end && value.contains("old"));
  };
  const Json json =
      parse_json(R"({"kept": [1, 2, 3], "dropped": {"x": 1}, "list": [{"old": 1}, {"new": 1}]})", listener);
  EXPECT_EQ(json_text(json), R"({"kept":[1,3],"list":[{"new":1}]})");
  EXPECT_EQ(heard.substr(0, 44), "0{ 1key 1[ 2value 2value 2value 1] 1key 1{ 2");
}

}  // namespace
}  // namespace trainyard
