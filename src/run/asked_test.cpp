// Tests the `asked` part of records.

#include <gtest/gtest.h>

#include "run/bench.h"
#include "run/train_options.h"

namespace trainyard::run {
namespace {

using record::Settings;
using record::Value;

const Settings kOfEveryRun{{"network", std::string("deepmnist")},
                           {"batch", std::int64_t{128}},
                           {"backend", std::string("auto")},
                           {"device", std::string("cpu")},
                           {"precision", std::string("f32")},
                           {"optimizer", std::string("sgd")},
                           {"seed", std::int64_t{1}},
                           {"devices", std::int64_t{1}},
                           {"strategy", std::string("single")}};

Settings with(Settings settings, const Settings& more) {
  for (const auto& [name, value] : more) settings[name] = value;
  return settings;
}

TEST(Asked, DefaultsAreLeftOut) {
  EXPECT_EQ(asked_of(BenchOptions()), with(kOfEveryRun, {{"steps", std::int64_t{50}}}));
  EXPECT_EQ(asked_of(TrainCommand()), with(kOfEveryRun, {{"data", std::string("synthetic")},
                                                         {"read", std::string("memory")},
                                                         {"staging", std::string("in-place")}}));
}

TEST(Asked, WhatDiffersFromItsDefaultIsThere) {
  TrainCommand options;
  options.run.device = DeviceSpec::cuda(1);
  options.run.learning_rate = 0.5;
  options.run.momentum = 0.8;
  options.run.no_fusion = true;
  options.preprocess = "standardise";
  options.epochs = 3;
  options.input.data.folder = "files";
  options.train.checkpoint_every = 10;
  const Settings asked = asked_of(options);
  for (const auto& [name, value] : Settings{{"device", std::string("cuda:1")},
                                            {"lr", 0.5},
                                            {"momentum", 0.8},
                                            {"no_fusion", true},
                                            {"preprocess", std::string("standardise")},
                                            {"epochs", std::int64_t{3}},
                                            {"from", std::string("files")},
                                            {"checkpoint_every", std::int64_t{10}}}) {
    ASSERT_TRUE(asked.contains(name)) << name;
    EXPECT_EQ(asked.at(name), value) << name;
  }
  EXPECT_FALSE(asked.contains("decay_factor"));
}

TEST(Asked, ServersAreThereWhereTheyAreUsed) {
  TrainCommand options;
  options.workers.workers = 2;
  options.ps.lease_seconds = 4;
  for (const char* mode : {"allreduce", "bsp"}) {
    options.workers.mode = mode;
    options.ps.servers = 1;  // as apply() leaves it
    const Settings asked = asked_of(options);
    EXPECT_EQ(asked.at("workers"), Value(std::int64_t{2}));
    EXPECT_EQ(asked.contains("servers"), with_servers(options.workers));
    EXPECT_FALSE(asked.contains("mode")) << "the strategy says it";
    EXPECT_EQ(asked.at("lease"), Value(std::int64_t{4}));
  }
}

TEST(Asked, OfAGeneratedNetworkAllParametersAndTheClasses) {
  RunOptions options;
  options.network = "fc";
  options.parameters["layers"] = "3";
  const Settings asked = asked_of(options);
  EXPECT_EQ(asked.at("layers"), Value(std::int64_t{3}));
  EXPECT_TRUE(asked.contains("width"));
  EXPECT_TRUE(asked.contains("classes"));
}

}  // namespace
}  // namespace trainyard::run
