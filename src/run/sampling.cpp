#include "run/sampling.h"

#include "base/clock.h"
#include "data/text/vocabulary.h"
#include "engine/checkpoint.h"
#include "run/run_options.h"
#include "stats/statistics.h"

namespace trainyard::run {

namespace {

namespace fs = std::filesystem;

fs::path checkpoint_in(const fs::path& from) {
  if (fs::exists(from / "manifest.json")) return from;
  if (const auto newest = engine::latest_checkpoint(from)) return *newest;
  fail(ErrorKind::config, "'{}' holds no checkpoint", from.string());
}

// The settings of the generated network, as the checkpoint has them.
networks::generator::Given parameters_in(const engine::CheckpointHeader& header) {
  const networks::NetworkInfo& network = networks::find_network(header.network);
  networks::generator::Given given;
  if (network.generator != nullptr)
    for (const networks::generator::Parameter& parameter : network.generator->parameters)
      for (const auto& [name, value] : header.asked)
        if (name == parameter.name) given[name] = value;
  return given;
}

// "tokens:DIR (900 sequences)" -> the vocabulary of DIR, where it is still there.
fs::path vocabulary_of_data(const engine::CheckpointHeader& header) {
  constexpr std::string_view kTokens = "tokens:";
  for (const auto& [name, value] : header.asked)
    if (name == "data" && value.starts_with(kTokens)) {
      const fs::path file =
          fs::path(value.substr(kTokens.size(), value.rfind(" (") - kTokens.size())) / "vocabulary.json";
      if (fs::exists(file)) return file;
    }
  return {};
}

data::Vocabulary vocabulary_for(const SampleOptions& options, const engine::CheckpointHeader& header,
                                std::int64_t of_network) {
  const fs::path file = options.vocabulary.empty() ? vocabulary_of_data(header) : options.vocabulary;
  data::Vocabulary vocabulary = file.empty() ? data::Vocabulary() : data::read_vocabulary(file);
  if (vocabulary.size() > of_network || (file.empty() && of_network != vocabulary.size()))
    fail(ErrorKind::config, "network '{}' has {} tokens, {} has {}; {} names its file", header.network,
         of_network, file.empty() ? "the vocabulary of bytes" : "'" + file.string() + "'", vocabulary.size(),
         Setting{"vocabulary"});
  return vocabulary;
}

}  // namespace

SampleResult sample_text(const SampleOptions& options, const std::function<bool(std::string_view)>& hear) {
  const fs::path checkpoint = checkpoint_in(options.from);
  const engine::CheckpointHeader header = engine::read_manifest(checkpoint).header;
  const networks::generator::Given parameters = parameters_in(header);
  const networks::NetworkInfo network = networks::find_network(header.network, parameters);
  if (network.masked)
    fail(ErrorKind::usage, "network '{}' is asked for masked tokens, and makes no text", header.network);
  const data::Vocabulary vocabulary = vocabulary_for(options, header, network.classes);
  std::vector<std::int32_t> ids;
  for (const data::Token token :
       data::Encoder(vocabulary).encode(options.prompt.empty() ? "\n" : options.prompt))
    ids.push_back(static_cast<std::int32_t>(token));
  SampleResult result{.network = header.network,
                      .checkpoint = checkpoint.string(),
                      .prompt_tokens = static_cast<std::int64_t>(ids.size())};
  const std::int64_t room = network.input[0];
  if (result.prompt_tokens > room)
    fail(ErrorKind::usage, "a prompt of {} tokens: network '{}' has room for {}", result.prompt_tokens,
         header.network, room);
  // The token behind the last place can still be made, and not read.
  const std::int64_t wanted = std::min(options.tokens, room - result.prompt_tokens + 1);

  train::Decoding decoding({.decoder = {.network = header.network,
                                        .parameters = parameters,
                                        .batch = 1,
                                        .steps = result.prompt_tokens},
                            .device = options.device,
                            .precision = precision_of(options.precision),
                            .threads = options.threads});
  decoding.load(checkpoint);
  std::vector<double> seconds;
  while (result.tokens < wanted) {
    const double start = now_seconds();
    const std::span<const float> logits =
        result.tokens == 0 ? decoding.read_prompt(ids) : decoding.read_token(std::span(ids).last(1));
    // Tokens that the network has and the vocabulary has not were never learned.
    const std::int32_t token = train::draw_token(logits.first(vocabulary.size()), options.drawing,
                                                 static_cast<std::uint64_t>(result.tokens));
    (result.tokens == 0 ? result.first_token_seconds : seconds.emplace_back()) = now_seconds() - start;
    ids.push_back(token);
    ++result.tokens;
    const std::string_view bytes = vocabulary.bytes_of(static_cast<data::Token>(token));
    result.text += bytes;
    if (!hear(bytes)) break;
  }
  if (!seconds.empty()) result.token_seconds = stats::median(seconds);
  return result;
}

}  // namespace trainyard::run
