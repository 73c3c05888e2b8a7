#include "run/bench_inference.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "run/served_network.h"

namespace trainyard::run {
namespace {

using Sizes = std::vector<std::int64_t>;

BenchOptions small_bench(const char* mode) {
  BenchOptions options;
  options.run.mode = mode;
  options.run.batch = 3;
  options.run.threads = 1;
  options.run.seed = 7;
  options.warmup_steps = 1;
  options.steps = 4;
  options.no_peak = true;
  if (options.run.mode == "decode") {
    options.run.network = "transformer";
    options.run.parameters = {
        {"layers", "2"}, {"width", "32"}, {"heads", "4"}, {"length", "20"}, {"vocabulary", "50"}};
    options.decode = {.prompt_tokens = 6, .new_tokens = 5};
  } else {
    options.run.network = "lenet";
  }
  return options;
}

BenchOptions with_arrivals(BenchOptions options, const std::string& arrivals, std::int64_t requests) {
  options.requests.arrivals = arrivals;
  options.requests.requests = requests;
  return options;
}

std::string complaint(const BenchOptions& options) {
  try {
    bench(options, nullptr);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(BatchSizes, DoubleUpToTheBatch) {
  EXPECT_EQ(batch_sizes("doubling", 1), (Sizes{1}));
  EXPECT_EQ(batch_sizes("doubling", 8), (Sizes{1, 2, 4, 8}));
  EXPECT_EQ(batch_sizes("doubling", 6), (Sizes{1, 2, 4, 6}));
  EXPECT_EQ(batch_sizes("one", 6), (Sizes{6}));
  EXPECT_THROW(batch_sizes("two", 6), Error);
  const Sizes sizes{1, 2, 4, 6};
  EXPECT_EQ(size_for(sizes, 1), 0u);
  EXPECT_EQ(size_for(sizes, 3), 2u);
  EXPECT_EQ(size_for(sizes, 6), 3u);
}

TEST(BenchInfer, HasNoLossInItsWork) {
  BenchOptions options = small_bench("infer");
  options.ops = true;
  const BenchResult result = bench(options, nullptr);
  ASSERT_TRUE(result.ops.has_value());
  for (const engine::OpShare& share : result.ops->by_op)
    EXPECT_NE(share.category, graph::Category::loss) << share.name;
  EXPECT_EQ(result.run.statistics.steps, 4);
  EXPECT_EQ(result.run.words.at("mode"), "infer");
}

TEST(BenchInfer, IsFedByTheHostWithoutLabels) {
  BenchOptions options = small_bench("infer");
  options.feed = "host";
  for (const char* network : {"lenet", "transformer"}) {
    options.run.network = network;
    const BenchResult result = bench(options, nullptr);
    EXPECT_EQ(result.run.figure_or("images_consumed", 0), 12) << network;
    EXPECT_EQ(result.run.words.at("feed"), "host");
  }
}

TEST(BenchDecode, TellsPromptsAndTokensApart) {
  const BenchResult result = bench(small_bench("decode"), nullptr);
  const record::RunRecord& run = result.run;
  EXPECT_EQ(run.statistics.steps, 4);
  EXPECT_EQ(run.figure_or("images_consumed", 0), 12);  // sequences
  EXPECT_EQ(run.figure_or("prompt_tokens", 0), 6);
  EXPECT_EQ(run.figure_or("new_tokens", 0), 5);
  EXPECT_EQ(run.figure_or("cache_bytes", 0), 2 * 2 * 3 * 20 * 32 * 4);
  const double first = run.figure_or("median_first_token_seconds", 0),
               token = run.figure_or("median_token_seconds", 0);
  EXPECT_GT(first, 0);
  EXPECT_GT(token, 0);
  EXPECT_LE(token, run.figure_or("p95_token_seconds", 0));
  EXPECT_LE(run.figure_or("p95_token_seconds", 0), run.figure_or("p99_token_seconds", 0));
  // A round is its parts.
  EXPECT_GE(run.statistics.max, first);
  EXPECT_NEAR(run.figure_or("tokens_per_second", 0), 5 * *run.images_per_second, 1e-9);
  EXPECT_NEAR(run.figure_or("decode_bytes_per_second", 0), run.figure_or("decode_step_bytes", 0) / token, 1);
  // Parameters are read once a step, whatever the batch; so a step has to move them at least.
  EXPECT_GT(run.figure_or("decode_step_bytes", 0), 4 * run.figure_or("parameters", 0) * 0.9);
  // Reading the prompt makes the first token, and four steps the others.
  EXPECT_EQ(run.figure_or("flops_per_step", 0),
            run.figure_or("prefill_flops", 0) + 4 * run.figure_or("decode_step_flops", 0));
}

TEST(BenchRequests, EveryOneIsAnsweredInBatches) {
  for (const char* mode : {"infer", "decode"}) {
    const BenchResult result = bench(with_arrivals(small_bench(mode), "closed:3", 30), nullptr);
    const record::RunRecord& run = result.run;
    EXPECT_EQ(run.figure_or("requests", 0), 30) << mode;
    EXPECT_EQ(run.figure_or("images_consumed", 0), 30);
    // Three clients of a batch of three: every batch is full.
    EXPECT_EQ(run.statistics.steps, 10);
    EXPECT_EQ(run.figure_or("batch_fill_fraction", 0), 1);
    EXPECT_EQ(run.figure_or("padding_fraction", 1), 0);
    EXPECT_EQ(run.words.at("stopped_by"), "requests");
    EXPECT_FALSE(run.figures.contains("offered_requests_per_second"));
    EXPECT_GT(run.figure_or("median_request_seconds", 0), 0);
    EXPECT_LE(run.figure_or("median_request_seconds", 0), run.figure_or("max_request_seconds", 0));
    EXPECT_EQ(run.figures.contains("median_first_token_seconds"), std::string(mode) == "decode");
  }
}

TEST(BenchRequests, BatchesThatAreNotFullRunAsTheLeastSizeThatHoldsThem) {
  BenchOptions options = with_arrivals(small_bench("infer"), "closed:2", 20);
  options.run.batch = 8;
  const auto compiled = [&](const char* sizes) {
    options.requests.sizes = sizes;
    const BenchResult result = bench(options, nullptr);
    EXPECT_EQ(result.run.figure_or("batch_fill_fraction", 0), 0.25);
    EXPECT_EQ(result.run.figure_or("padding_fraction", -1), std::string(sizes) == "one" ? 0.75 : 0);
    return parse_json(result.run.details.at("compiled_batches"));
  };
  const Json doubling = compiled("doubling"), one = compiled("one");
  ASSERT_EQ(doubling.size(), 4u);
  EXPECT_EQ(doubling[1]["batch"], 2);
  EXPECT_EQ(doubling[1]["batches"], 10);
  EXPECT_EQ(doubling[3]["batches"], 0);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["batch"], 8);
  EXPECT_EQ(one[0]["batches"], 10);
}

TEST(BenchRequests, MoreThanTheMachineCanDoIsAWarning) {
  // Nobody runs ten million forward passes a second.
  BenchOptions options = with_arrivals(small_bench("infer"), "poisson:10000000", 60);
  const BenchResult result = bench(options, nullptr);
  const auto overload = [](const record::Warning& warning) { return warning.kind == "overload"; };
  EXPECT_TRUE(std::any_of(result.run.warnings.begin(), result.run.warnings.end(), overload));
  EXPECT_GT(result.run.figure_or("peak_queue_requests", 0), 40);
  EXPECT_EQ(result.run.status, record::Status::ok);
  options.requests.arrivals = "poisson:2";
  options.requests.requests = 3;
  const BenchResult quiet = bench(options, nullptr);
  EXPECT_TRUE(std::none_of(quiet.run.warnings.begin(), quiet.run.warnings.end(), overload));
  EXPECT_EQ(quiet.run.figure_or("offered_requests_per_second", 0), 2);
}

TEST(BenchRequests, SayWhatTheyCannotDo) {
  EXPECT_NE(complaint(with_arrivals(small_bench("train"), "closed:2", 5)).find("infer or decode"),
            std::string::npos);
  EXPECT_NE(complaint(with_arrivals(small_bench("infer"), "poisson:0", 5)).find("above 0"),
            std::string::npos);
  BenchOptions fed = with_arrivals(small_bench("infer"), "closed:2", 5);
  fed.feed = "host";
  EXPECT_NE(complaint(fed).find("feed host"), std::string::npos);
  BenchOptions apart = small_bench("decode");
  apart.ops = true;
  EXPECT_NE(complaint(apart).find("ops"), std::string::npos);
  BenchOptions images = small_bench("decode");
  images.run.network = "lenet";
  images.run.parameters = {};
  EXPECT_NE(complaint(images).find("does not make text"), std::string::npos);
  BenchOptions long_ones = small_bench("decode");
  long_ones.decode.new_tokens = 16;
  EXPECT_NE(complaint(long_ones).find("room for 21 tokens"), std::string::npos) << complaint(long_ones);
}

}  // namespace
}  // namespace trainyard::run
