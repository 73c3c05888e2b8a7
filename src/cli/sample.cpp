#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "process/stop_request.h"
#include "run/sampling.h"

namespace trainyard::cli {

namespace {

struct SampleCommand {
  run::SampleOptions sample;
  bool json = false, quiet = false;
};

int sample_and_report(const SampleCommand& options) {
  const process::StopRequest stop;
  const run::SampleResult result = run::sample_text(options.sample, [&](std::string_view bytes) {
    if (!options.json) {
      fmt::print("{}", bytes);
      std::fflush(stdout);
    }
    return !process::StopRequest::asked();
  });
  if (options.json) {
    const Json made{{"network", result.network},
                    {"checkpoint", result.checkpoint},
                    {"prompt", options.sample.prompt},
                    {"text", result.text},
                    {"prompt_tokens", result.prompt_tokens},
                    {"tokens", result.tokens},
                    {"first_token_seconds", result.first_token_seconds},
                    {"token_seconds", result.token_seconds}};
    fmt::print("{}\n", json_text(made));
    return 0;
  }
  fmt::print("\n");
  if (!options.quiet)
    fmt::print(stderr, "{} tokens by '{}': the first {} after the prompt of {}, each other one in {}\n",
               result.tokens, result.checkpoint, format_seconds(result.first_token_seconds),
               result.prompt_tokens, format_seconds(result.token_seconds));
  return 0;
}

}  // namespace

std::function<int()> declare_sample(Command& command) {
  const auto options = std::make_shared<SampleCommand>();
  run::SampleOptions& sample = options->sample;
  command.add_option("folder", sample.from, "Folder of a run (`train --out`), or one of its checkpoints")
      ->required();
  command.add_option("--prompt", sample.prompt, "Text that the network goes on from");
  command.add_option("--tokens", sample.tokens, "Tokens to make")
      ->capture_default_str()
      ->transform(within(record::NumberRange::whole(1, 1'000'000)));
  command
      .add_option("--temperature", sample.drawing.temperature,
                  "Above 1 likely tokens are drawn less often, below 1 more often; 0: always the likeliest")
      ->capture_default_str()
      ->transform(within(record::NumberRange::real(0, 1000)));
  command.add_option("--top-k", sample.drawing.among, "Draw among so many likeliest tokens; 0: among all")
      ->capture_default_str()
      ->transform(within(record::NumberRange::whole(0)));
  command.add_option("--seed", sample.drawing.seed, "Seed of the draws")
      ->capture_default_str()
      ->transform(within(record::NumberRange::whole(0, (std::uint64_t{1} << 63) - 1)));
  command.add_option("--vocabulary", sample.vocabulary,
                     "vocabulary.json of `data pack text` (default: that of the run's data, or bytes)");
  add_setting(command, "bench", "device", sample.device);
  add_setting(command, "bench", "precision", sample.precision);
  add_setting(command, "bench", "threads", sample.threads);
  command.add_flag("--json", options->json, "Print text and times as JSON");
  command.add_flag("--quiet,-q", options->quiet, "Print the text alone");
  command.footer(
      "Keys and values of the tokens before are kept, so each token costs the same work wherever it stands, "
      "but\n"
      "for attention. The text ends where the network has no more room (`length`).\n\n"
      "Examples:\n"
      "  trainyard train --network transformer --length 128 --data text:book.txt --batch 8 --steps 20 --out "
      "runs/gpt\n"
      "  trainyard sample runs/gpt --prompt Ishmael --tokens 100\n"
      "  trainyard sample runs/gpt --temperature 0.8 --top-k 40 --json");
  return [options] { return sample_and_report(*options); };
}

}  // namespace trainyard::cli
