// `bench` as those who serve a network use it: forward passes without a loss, tokens, requests; and what
// studies make of them.

#include <fstream>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "record/run_record.h"

namespace trainyard::cli_test {
namespace {

constexpr const char* kDecode =
    "bench --mode decode --network transformer --layers 1 --width 32 --heads 2 --length 16 --vocabulary 50 "
    "--threads 1 "
    "--batch 2 --prompt-tokens 6 --new-tokens 5 --steps 4 --warmup 1 ";
constexpr const char* kRequests =
    "bench --mode infer --network lenet --threads 1 --batch 4 --warmup 1 --requests 24 --no-peak ";

class InferenceTest : public CliTest {
 protected:
  std::string printed(const std::string& arguments) const {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  record::RunRecord record(const std::string& arguments) const {
    return record::run_record_from_json(printed(arguments + " --json"));
  }
  static void expect_part(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(InferenceTest, AForwardPassHasNoLoss) {
  const record::RunRecord run =
      record("bench --mode infer --network lenet --batch 2 --steps 2 --warmup 1 --threads 1 --ops --no-peak");
  for (const auto& kernel : parse_json(run.details.at("ops")).at("by_op"))
    EXPECT_NE(kernel.at("category"), "loss") << kernel;
  const Json counts = parse_json(printed("explain lenet --batch 2 --mode infer --counts --json"));
  EXPECT_FALSE(counts.empty());
}

TEST_F(InferenceTest, DecodingTellsWhatAMachineReached) {
  const record::RunRecord run = record(kDecode);
  EXPECT_EQ(run.words.at("mode"), "decode");
  EXPECT_EQ(record::to_text(run.asked.at("prompt_tokens")), "6");
  EXPECT_EQ(run.statistics.steps, 4);
  EXPECT_GT(run.figure_or("median_first_token_seconds", 0), 0);
  EXPECT_GT(run.figure_or("prefill_tokens_per_second", 0), 0);
  EXPECT_NEAR(run.figure_or("decode_bandwidth_fraction", 0),
              run.figure_or("decode_bytes_per_second", 0) / run.figure_or("peak_bytes_per_second", 1), 1e-9);
  const std::string text = printed(std::string(kDecode) + "--no-peak");
  for (const char* part : {"decoding", "time to first token", "time per token", "prompts of 6 tokens, 5 new"})
    expect_part(text, part);
}

TEST_F(InferenceTest, RequestsAreAnsweredAndTold) {
  for (const char* arrivals : {"--arrivals poisson:300", "--arrivals closed:3 --batch-wait 0.001"}) {
    const record::RunRecord run = record(std::string(kRequests) + arrivals);
    EXPECT_EQ(run.figure_or("requests", 0), 24) << arrivals;
    EXPECT_GE(run.figure_or("p99_request_seconds", 0), run.figure_or("median_request_seconds", 1));
    EXPECT_GE(run.figure_or("max_request_seconds", 0), run.figure_or("p99_request_seconds", 1));
    EXPECT_GT(run.figure_or("requests_per_second", 0), 0);
    EXPECT_EQ(parse_json(run.details.at("compiled_batches")).size(), 3u);
  }
  const std::string text = printed(std::string(kRequests) + "--arrivals poisson:1000000");
  for (const char* part :
       {"request latency", "of it in the queue", "that came; full batches answer", "warning"})
    expect_part(text, part);
  EXPECT_GT(record(std::string(kDecode) + "--no-peak --requests 6 --arrivals closed:2")
                .figure_or("p99_first_token_seconds", 0),
            0);
}

TEST_F(InferenceTest, MistakesAreNamed) {
  expect_failure("bench --arrivals poisson:5", 1,
                 "--arrivals poisson:5: requests want --mode infer or decode");
  expect_failure("bench --mode infer --arrivals poison:5", 1, "poisson:RATE or closed:N");
  expect_failure("bench --mode infer --arrivals poisson:-5", 1, "a number above 0");
  expect_failure("bench --mode infer --arrivals closed:0", 1, "a number of clients is wanted");
  expect_failure("bench --mode decode --network lenet", 1, "network 'lenet' does not make text");
  expect_failure(
      "bench --mode decode --network transformer --prompt-tokens 60", 1,
      "--prompt-tokens 60 and --new-tokens 32: network 'transformer' has room for 65 tokens in all "
      "(--length 64)");
  expect_failure("bench --mode decode --network transformer --feed host", 1, "nobody makes batches ahead");
  expect_failure("bench --mode decode --network transformer --ops", 1, "--ops");
  expect_failure("bench --mode decode --network transformer --new-tokens 1", 1, "--new-tokens: '1' given");
  expect_failure("bench --mode infer --arrivals closed:1 --trace t.json", 1, "has no steps for a --trace");
  expect_failure("bench --mode infer --arrivals closed:1 --batch-sizes two", 1, "--batch-sizes 'two'");
  expect_failure("bench --mode infre", 1, "did you mean 'infer'");
  expect_failure("explain lenet --mode decode", 1, "--mode 'decode'");
  const CommandResult idle =
      run("bench --network lenet --batch 1 --steps 1 --warmup 0 --no-peak --batch-wait 1 --new-tokens 3");
  EXPECT_EQ(idle.exit_code, 0);
  expect_part(idle.err, "--batch-wait has no effect: no requests come without --arrivals");
  expect_part(idle.err, "--new-tokens has no effect");
}

TEST_F(InferenceTest, AStudyHasThemAsAxesAndItsStatusTellsThem) {
  std::ofstream(work() / "study.yaml") << R"(study: served
settings: {warmup: 1, threads: 1, no_peak: true}
parts:
  - settings: {mode: infer, network: lenet, steps: 5}
    axes: {batch: [1, 2]}
  - settings: {mode: decode, network: transformer, layers: 1, width: 32, heads: 2, steps: 2, prompt_tokens: 4, new_tokens: 3}
    axes: {batch: [1, 2]}
  - settings: {mode: infer, network: lenet, batch: 2, requests: 10}
    axes: {arrivals: ["closed:1", "closed:2"]}
)";
  EXPECT_EQ(run("study run study.yaml --out served --quiet").exit_code, 0);
  const std::string status = printed("study status served");
  for (const char* part : {"first token median", "token p99", "caches full", "tokens/s new", "latency p99",
                           "queue p99", "requests/s answered", "batch fill"})
    expect_part(status, part);
  std::ofstream(work() / "wrong.yaml") << "study: wrong\nsettings: {mode: infer, network: lenet}\n"
                                          "axes: {arrivals: [sometimes]}\n";
  expect_failure("study plan wrong.yaml", 1, "arrivals 'sometimes'");
}

}  // namespace
}  // namespace trainyard::cli_test
