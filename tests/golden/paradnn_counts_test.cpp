// These tests compare ParaDnn's formulas and its published columns.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/core.h>

#include "base/json.h"
#include "networks/generator/generator.h"
#include "networks/generator/parameter.h"
#include "networks/zoo/zoo.h"

namespace trainyard::networks::generator {
namespace {

namespace fs = std::filesystem;

fs::path shared_data() {
  const char* given = std::getenv("TRAINYARD_SHARED_DATA");
  return given != nullptr ? given : "../shared/data";
}

Counts count(const std::string& network, const Given& given, int classes, const CountOptions& options) {
  const NetworkInfo& info = find_network(network);
  return info.generator->count(parameters_of(info, given), classes, options);
}

TEST(ParaDnnCounts, FullyConnectedByItsFormula) {
  for (const auto& [l, n, i, o, b] : {std::array<std::int64_t, 5>{4, 1024, 2000, 200, 64},
                                      {1, 32, 8000, 1000, 16384},
                                      {128, 8192, 2000, 1000, 64}}) {
    const Given given{
        {"layers", std::to_string(l)}, {"width", std::to_string(n)}, {"inputs", std::to_string(i)}};
    const std::int64_t weights = (l - 1) * n * n + n * (i + o);
    const Counts training = count("fc", given, static_cast<int>(o), {.batch = b}),
                 inference = count("fc", given, static_cast<int>(o), {.batch = b, .training = false});
    EXPECT_EQ(training.parameters, weights + l * n + o);
    EXPECT_EQ(training.flops(), 6 * b * weights - 2 * b * n * i);
    EXPECT_EQ(inference.flops(), 2 * b * weights);
    // Nobody multiplies by a bias, but it is read once, and its gradient written.
    const std::int64_t linear = (b * i + i * n + b * n) + (l - 1) * (b * n + n * n + b * n) +
                                (b * n + n * o + b * o),
                       biases = l * n + o, first = b * i + i * n + b * n;
    const std::int64_t loss = 2 * (2 * b * o + b + 1) + 1, relus = l * 5 * b * n;
    for (const auto& [slots, moves] : {std::pair{0, 3}, {1, 5}, {2, 7}}) {
      const Counts of_rule = count("fc", given, static_cast<int>(o), {.batch = b, .slots = slots});
      EXPECT_EQ(of_rule.compulsory_bytes,
                4 * (3 * linear - first + 2 * biases + relus + loss + moves * training.parameters));
    }
    EXPECT_EQ(training.saved_bytes, 4 * (l * b * n + b * o));
    EXPECT_EQ(inference.saved_bytes, 0);
    EXPECT_EQ(inference.peak_bytes, 4 * (training.parameters + b * i + b * o + 2 * b * n));
  }
}

TEST(ParaDnnCounts, ConvolutionalByItsFormula) {
  struct Row {
    const char *image, *filters, *blocks, *block;
    int classes;
    std::int64_t parameters;
    const char *forward_gmac, *training_gflop;
  };
  for (const Row& row : {Row{"224", "64", "3,4,6,3", "bottleneck", 1000, 25'557'032, "4.0892", "24.2991"},
                         Row{"224", "64", "2", "residual", 1000, 11'693'736, "1.8269", "10.7255"},
                         Row{"200", "16", "1", "bottleneck", 1000, 1'019'384, "0.0962", "0.5300"},
                         Row{"250", "32", "4", "bottleneck", 1000, 10'564'488, "1.3636", "8.0347"},
                         Row{"300", "64", "8", "bottleneck", 1500, 98'681'116, "14.2746", "85.2240"},
                         Row{"300", "64", "8", "residual", 1500, 61'094'556, "13.8592", "82.7316"}}) {
    const Counts counts = count(
        "cnn", {{"image", row.image}, {"filters", row.filters}, {"blocks", row.blocks}, {"block", row.block}},
        row.classes, {});
    EXPECT_EQ(counts.parameters, row.parameters);
    EXPECT_EQ(fmt::format("{:.4f}", static_cast<double>(counts.forward_flops) / 2e9), row.forward_gmac);
    EXPECT_EQ(fmt::format("{:.4f}", static_cast<double>(counts.flops()) / 1e9), row.training_gflop);
  }
}

TEST(ParaDnnCounts, RecurrentByItsFormula) {
  struct Row {
    const char *cell, *layers, *hidden, *length, *vocabulary;
    std::int64_t parameters, forward_flops;
  };
  for (const Row& row : {Row{"rnn", "1", "100", "10", "2", 20'502, 404'000},
                         Row{"lstm", "13", "900", "90", "1024", 86'131'024, 15'329'088'000},
                         Row{"gru", "5", "500", "50", "32", 7'539'532, 751'600'000}}) {
    const Counts counts = count("rnn",
                                {{"cell", row.cell},
                                 {"layers", row.layers},
                                 {"hidden", row.hidden},
                                 {"length", row.length},
                                 {"vocabulary", row.vocabulary}},
                                0, {});
    EXPECT_EQ(counts.parameters, row.parameters);
    EXPECT_EQ(counts.forward_flops, row.forward_flops);
    EXPECT_EQ(counts.flops(), 3 * row.forward_flops);  // the embedding is trained
  }
}

TEST(ParaDnnCounts, WhatTooManyDigitsHave) {
  const Counts counts = count("fc", {{"layers", "4096"}, {"width", "16777216"}, {"inputs", "16777216"}},
                              1 << 24, {.batch = 1 << 30});
  EXPECT_EQ(counts.flops(), kUncountable);
  EXPECT_EQ(counts.parameters, 4096 * ((std::int64_t{1} << 48) + (std::int64_t{1} << 24)) +
                                   (std::int64_t{1} << 48) + (std::int64_t{1} << 24));
  EXPECT_EQ(counts.peak_bytes, kUncountable);
}

// "NVIDIA A100 80GB PCIe, f32, 4, 1024, 64, 2000, 200, 5398528, 0.385, 0.538": a hundred steps each.
TEST(ParaDnnCounts, ColumnsOfTheRemake) {
  for (const auto& [name, rows] : {std::pair{"fc_A100.f32.csv", 0}, {"fc_T4.f32.csv", 0}}) {
    const fs::path path = shared_data() / "pytorch-paradnn" / name;
    std::ifstream file(path);
    if (!file) GTEST_SKIP() << path << " is not here";
    std::string line;
    std::getline(file, line);
    ASSERT_EQ(line.substr(0, line.find(',')), "device");
    int read = rows;
    for (; std::getline(file, line); ++read) {
      std::vector<std::string> cells;
      std::istringstream text(line);
      for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
      ASSERT_EQ(cells.size(), 10u) << line;
      const auto number = [&](std::size_t column) { return std::stoll(cells[column]); };
      const PublishedCounts published =
          published_fc({number(2), number(3), number(5), number(6)}, number(4), true);
      ASSERT_EQ(published.parameters, number(7)) << line;
      const double seconds = std::stod(cells[8]), tflops = std::stod(cells[9]);
      if (seconds > 0) {
        ASSERT_NEAR(published.flops * 100 / seconds / 1e12 / tflops, 1, 1e-12) << line;
      }
    }
    EXPECT_GT(read, 7000) << name;
  }
}

std::int64_t weights_of(const FcSizes& sizes, std::int64_t squares) {
  return squares * sizes.width * sizes.width + sizes.width * (sizes.inputs + sizes.classes);
}

// Counts the networks of the PyTorch re-make as they are.
PublishedCounts remake_as_built(const FcSizes& sizes, std::int64_t batch) {
  const std::int64_t weights = weights_of(sizes, sizes.layers);
  const auto samples = static_cast<double>(batch);
  return {weights + (sizes.layers + 1) * sizes.width + sizes.classes,
          6 * samples * static_cast<double>(weights) -
              2 * samples * static_cast<double>(sizes.width * sizes.inputs)};
}

TEST(ParaDnnCounts, RemakeHasOneLayerMore) {
  const PublishedCounts built = remake_as_built({4, 1024, 2000, 200}, 64);
  const Counts ours =
      count("fc", {{"layers", "5"}, {"width", "1024"}, {"inputs", "2000"}}, 200, {.batch = 64});
  EXPECT_EQ(built.parameters, ours.parameters);
  EXPECT_EQ(built.flops, static_cast<double>(ours.flops()));
}

FcSizes sizes_of(const std::string& label) {
  FcSizes sizes{};
  int batch = 0;
  std::sscanf(label.c_str(), "layer_%ld-node_%ld-input_%ld-output_%ld-bs_%d", &sizes.layers, &sizes.width,
              &sizes.inputs, &sizes.classes, &batch);
  return sizes;
}

std::int64_t batch_of(const std::string& label) { return std::stoll(label.substr(label.find("bs_") + 3)); }

// Returns the bytes of ParaDnn's fully connected training on each of a TPU v2's eight cores: parameters with
// two tensors of optimizer state in 32 bits, activations and their gradients in 16. Networks above 8 GB did
// not run.
double tpu_v2_core_bytes(const FcSizes& sizes, std::int64_t batch) {
  const auto parameters =
      static_cast<double>(weights_of(sizes, sizes.layers - 1) + sizes.layers * sizes.width + sizes.classes);
  const double samples = static_cast<double>(batch) / 8;
  return 12 * parameters + 2 * 2 * samples * static_cast<double>(sizes.layers * sizes.width) +
         2 * samples * static_cast<double>(sizes.inputs);
}
constexpr double kTpuV2CoreBytes = 8e9;

// All 1944 points of the published sweep: those above 8 GB a core are those that ran out of memory.
TEST(ParaDnnCounts, MemoryRuleOfTheTpu) {
  const fs::path path = shared_data() / "paradnn" / "tpu_fc.json";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not here";
  const Json data = read_json(path);
  const auto bytes = [](const Json& label) {
    return tpu_v2_core_bytes(sizes_of(label.get<std::string>()), batch_of(label.get<std::string>()));
  };
  double most_finished = 0, least_failed = 1e300;
  int finished = 0, failed = 0, wrong = 0;
  for (const auto& label : data.at("labels")) {
    ++finished;
    most_finished = std::max(most_finished, bytes(label));
    if (bytes(label) > kTpuV2CoreBytes) ++wrong;
  }
  for (std::size_t i = 0; i < data.at("err_jobs").size(); ++i) {
    ASSERT_EQ(data.at("states")[i], "OOM");
    ++failed;
    least_failed = std::min(least_failed, bytes(data.at("err_jobs")[i]));
    if (bytes(data.at("err_jobs")[i]) <= kTpuV2CoreBytes) ++wrong;
  }
  EXPECT_EQ(finished, 1724);
  EXPECT_EQ(failed, 220);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fmt::format("{:.2f} {:.2f}", most_finished / 1e9, least_failed / 1e9), "7.79 8.61");
}

}  // namespace
}  // namespace trainyard::networks::generator
