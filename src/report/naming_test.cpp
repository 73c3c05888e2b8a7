#include "report/naming.h"
#include "base/json.h"

#include <gtest/gtest.h>

#include "report/series.h"
#include "report/spec.h"
#include "report/test_study.h"

namespace trainyard::report {
namespace {

using record::Value;

std::vector<Value> counts(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.end()};
}

std::vector<std::string> names_of(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return names;
}

// Returns a study whose cells have settings of their own, as published ones do: each row is a cell.
StudyView irregular(const std::vector<record::Settings>& cells, const std::vector<double>& speeds) {
  TestStudy study{"s", {}, {}, 1};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string id = fmt::format("c{:03}", i);
    study.planned.push_back({static_cast<std::int64_t>(i), id, 1, cells[i]});
    if (speeds[i] == 0) continue;
    record::RunRecord run;
    run.id = id + "-r1-a1";
    run.cell = id;
    run.asked = cells[i];
    run.images_per_second = speeds[i];
    study.runs.push_back(run);
  }
  return view_of(study);
}

const Value kCuda = word("cuda"), kCpu = word("cpu"), kK80 = word("k80"), kP100 = word("p100"),
            kOne = word("single"), kTowers = word("towers");
Value whole(std::int64_t value) { return value; }

// The strategy tells the two apart, and with it the number of steps seems needless; the second cell lacks it.
TEST(SeriesTest, CellsThatDifferInASettingAreNoLineThoughOneLacksAnother) {
  const StudyView view = irregular({{{"strategy", kOne}, {"batch", whole(50)}, {"steps", whole(20000)}},
                                    {{"batch", whole(1024)}, {"steps", whole(5000)}}},
                                   {100, 200});
  EXPECT_TRUE(Series(view, "batch").cells().empty());
  const StudyView alike = irregular({{{"strategy", kOne}, {"batch", whole(50)}, {"steps", whole(5000)}},
                                     {{"batch", whole(1024)}, {"steps", whole(5000)}}},
                                    {100, 200});
  EXPECT_EQ(Series(alike, "batch").cells().size(), 2u);
}

TEST(Naming, OfAMatrixEverySettingIsNeeded) {
  const StudyView view =
      view_of(make_test_study("s", {{"network", {word("a"), word("bb")}}, {"batch", counts({16, 32})}}, 1));
  EXPECT_EQ(names_of(naming_axes(all_cells(view), view.axes)),
            (std::vector<std::string>{"network", "batch"}));
}

TEST(Naming, WhatOthersImplyIsNotSaid) {
  const StudyView view =
      irregular({{{"device", kCuda}, {"gpu_type", kK80}, {"steps", whole(5000)}, {"gpus", whole(1)}},
                 {{"device", kCuda}, {"gpu_type", kK80}, {"steps", whole(5000)}, {"gpus", whole(2)}},
                 {{"device", kCuda}, {"gpu_type", kP100}, {"steps", whole(20000)}, {"gpus", whole(1)}},
                 {{"device", kCpu}, {"tasks", whole(8)}, {"steps", whole(20000)}}},
                {1, 2, 3, 4});
  std::vector<std::string> labels;
  for (const CellView& cell : view.cells) labels.push_back(cell.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"k80, gpus 1", "k80, gpus 2", "p100, gpus 1", "tasks 8"}));
}

TEST(Naming, SplitsByWordsUntilScalesAreAlike) {
  const StudyView view = irregular({{{"device", kCuda}, {"strategy", kOne}, {"gpus", whole(1)}},
                                    {{"device", kCuda}, {"strategy", kOne}, {"gpus", whole(2)}},
                                    {{"device", kCuda}, {"strategy", kTowers}, {"gpus", whole(1)}},
                                    {{"device", kCuda}, {"strategy", kTowers}, {"gpus", whole(2)}},
                                    {{"device", kCpu}, {"strategy", kOne}, {"gpus", whole(0)}}},
                                   {5000, 6000, 40000, 70000, 100});
  const std::vector<ScalePart> parts = split_by_scale(view);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].name, "cuda, towers");
  EXPECT_EQ(names_of(parts[0].axes), std::vector<std::string>{"gpus"});
  EXPECT_EQ(parts[1].name, "cuda, single");
  EXPECT_EQ(parts[2].name, "cpu, single, gpus 0");
}

TEST(Naming, OneScaleIsOnePart) {
  const StudyView view =
      view_of(make_test_study("s", {{"network", {word("a"), word("bb")}}, {"batch", counts({16, 32})}}, 1));
  const std::vector<ScalePart> parts = split_by_scale(view);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].name, "");
  EXPECT_EQ(parts[0].cells.size(), 4u);
}

// "scaling" is no setting of one GPU, and the batch follows from the strategy: the line goes through all of
// them.
TEST(Series, GoOnWhereASettingIsMissing) {
  const StudyView view = irregular(
      {{{"gpus", whole(1)}, {"strategy", kTowers}, {"batch", whole(512)}},
       {{"gpus", whole(2)}, {"strategy", kTowers}, {"batch", whole(512)}, {"scaling", word("weak")}},
       {{"gpus", whole(4)}, {"strategy", kTowers}, {"batch", whole(512)}, {"scaling", word("weak")}},
       {{"gpus", whole(1)}, {"strategy", kOne}, {"batch", whole(50)}},
       {{"gpus", whole(2)}, {"strategy", kOne}, {"batch", whole(50)}}},
      {10, 20, 40, 5, 6});
  const Series series(view, "gpus");
  EXPECT_EQ(series.cells().size(), 5u);
  EXPECT_EQ(series.names(), (std::vector<std::string>{"towers", "single"}));
}

TEST(Series, CellsThatStandAloneAreNoLine) {
  const StudyView view = irregular({{{"gpus", whole(1)}, {"network", word("a")}},
                                    {{"gpus", whole(2)}, {"network", word("a")}},
                                    {{"gpus", whole(1)}, {"network", word("b")}},
                                    {{"gpus", whole(2)}, {"network", word("c")}}},
                                   {1, 2, 3, 0});
  const Series series(view, "gpus");
  EXPECT_EQ(series.cells().size(), 2u);
  EXPECT_EQ(series.shared(), "a");
}

double luminance(const std::string& colour) {
  const auto part = [&](std::size_t at) {
    const double share = std::stoi(colour.substr(at, 2), nullptr, 16) / 255.0;
    return share <= 0.03928 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}

// As WCAG 2 defines it.
double contrast(const std::string& a, const std::string& b) {
  const auto [low, high] = std::minmax({luminance(a), luminance(b)});
  return (high + 0.05) / (low + 0.05);
}

TEST(Theme, ColoursCanBeReadInBothModes) {
  const Json palettes = parse_json(palettes_json());
  for (const char* mode : {"light", "dark"}) {
    const Json& colours = palettes.at(mode);
    const auto of = [&](const std::string& a, const std::string& b) {
      return contrast(colours.at(a).get<std::string>(), colours.at(b).get<std::string>());
    };
    for (const char* text : {"ink", "soft", "brand", "alarm"})
      for (const char* ground : {"card", "ground"})
        EXPECT_GE(of(text, ground), 4.5) << mode << text << ground;
    EXPECT_GE(of("alarm", "alarm_ground"), 4.5) << mode;
    EXPECT_GE(of("alarm", "failed"), 4.5) << mode;
    EXPECT_GE(of("on_low", "low"), 4.5) << mode;
    EXPECT_GE(of("on_high", "high"), 4.5) << mode;
    for (int i = 1; i <= kPaletteTones; ++i) {
      EXPECT_GE(of(fmt::format("c{}", i), "card"), 3) << mode << i;
      EXPECT_GE(of(fmt::format("i{}", i), fmt::format("c{}", i)), 4.5) << mode << i;
    }
    for (const char* ramp : {"ramp_low", "ramp_middle", "ramp_high"})
      EXPECT_GE(of(ramp, "card"), 3) << mode << ramp;
  }
  EXPECT_NE(palettes_css().find("prefers-color-scheme: dark"), std::string::npos);
}

// A name without a colour would be drawn black.
TEST(Theme, KnowsEveryColourThatItNames) {
  const Json light = parse_json(palettes_json()).at("light");
  const std::string text = theme();
  for (std::size_t at = 0; (at = text.find("\"@", at)) != std::string::npos; ++at) {
    const std::string name = text.substr(at + 2, text.find('"', at + 1) - at - 2);
    EXPECT_TRUE(light.contains(name)) << name;
  }
}

}  // namespace
}  // namespace trainyard::report
