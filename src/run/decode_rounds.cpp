#include "run/decode_rounds.h"

#include "base/clock.h"
#include "base/philox.h"

namespace trainyard::run {

namespace {

std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
  const Philox random(seed, stream_of("prompts"));
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<std::int32_t>(random.word(static_cast<std::uint64_t>(i)) %
                                               static_cast<std::uint64_t>(vocabulary)));
  return tokens;
}

void check_room(const networks::DecoderOptions& network, const DecodeOptions& tokens) {
  if (!networks::find_network(network.network).reads_sequences()) return;  // it will be refused for that
  const std::int64_t room = networks::find_network(network.network, network.parameters).input[0];
  // The last of the new tokens is made, and not read.
  if (tokens.prompt_tokens + tokens.new_tokens - 1 > room)
    fail(ErrorKind::usage, "{} {} and {} {}: network '{}' has room for {} tokens in all ({} {})",
         Setting{"prompt_tokens"}, tokens.prompt_tokens, Setting{"new_tokens"}, tokens.new_tokens,
         network.network, room + 1, Setting{"length"}, room);
}

}  // namespace

DecodeRounds::DecodeRounds(const train::DecodingOptions& network, const DecodeOptions& tokens)
    : tokens_(tokens),
      decoding_(network),
      prompts_(
          random_tokens(tokens.prompt_tokens * network.decoder.batch, decoding_.vocabulary(), network.seed)),
      chosen_(static_cast<std::size_t>(network.decoder.batch)) {}

void DecodeRounds::choose(std::span<const float> logits) {
  const auto vocabulary = static_cast<std::size_t>(decoding_.vocabulary());
  for (std::size_t sequence = 0; sequence < chosen_.size(); ++sequence) {
    const std::span<const float> own = logits.subspan(sequence * vocabulary, vocabulary);
    chosen_[sequence] = static_cast<std::int32_t>(std::max_element(own.begin(), own.end()) - own.begin());
  }
}

double DecodeRounds::run(RoundTimes& times) {
  double began = now_seconds();
  choose(decoding_.read_prompt(prompts_));
  double ended = now_seconds();
  const double first = ended - began;
  times.prompts.push_back(first);
  for (std::int64_t token = 1; token < tokens_.new_tokens; ++token) {
    began = ended;
    choose(decoding_.read_token(chosen_));
    ended = now_seconds();
    times.tokens.push_back(ended - began);
  }
  return first;
}

graph::Cost DecodeRounds::round_cost() const {
  graph::Cost cost = decoding_.prompt_cost();
  for (std::int64_t token = 1; token < tokens_.new_tokens; ++token)
    cost += decoding_.token_cost(tokens_.prompt_tokens + token - 1);
  return cost;
}

graph::Cost DecodeRounds::step_cost() const {
  const graph::Cost all = round_cost(), prompt = decoding_.prompt_cost();
  const std::int64_t steps = tokens_.new_tokens - 1;
  return {.flops = (all.flops - prompt.flops) / steps,
          .elementwise_flops = (all.elementwise_flops - prompt.elementwise_flops) / steps,
          .bytes_moved = (all.bytes_moved - prompt.bytes_moved) / steps};
}

train::DecodingOptions to_decoding(const RunOptions& options, const DecodeOptions& tokens,
                                   std::int64_t batch) {
  if (options.classes != 0)
    fail(ErrorKind::usage, "{} {}: a network that makes text has those of its vocabulary; give {}",
         Setting{"classes"}, options.classes, Setting{"vocabulary"});
  const train::SessionOptions session = to_session(options);
  const networks::DecoderOptions decoder{.network = options.network,
                                         .parameters = options.parameters,
                                         .batch = batch,
                                         .steps = tokens.prompt_tokens};
  check_room(decoder, tokens);
  networks::build_decoder(decoder);  // what it refuses is refused before anything is measured
  return {.decoder = decoder,
          .backend = session.backend,
          .device = session.device,
          .precision = session.precision,
          .tuning = session.tuning,
          .threads = session.threads,
          .fuse = session.fuse,
          .seed = session.seed};
}

void add_decode_figures(record::RunRecord& run, const DecodeOptions& tokens, const DecodeRounds& rounds,
                        const RoundTimes& times, double mean_sequences) {
  const graph::Cost step = rounds.step_cost();
  run.figures["prompt_tokens"] = static_cast<double>(tokens.prompt_tokens);
  run.figures["new_tokens"] = static_cast<double>(tokens.new_tokens);
  run.figures["cache_bytes"] = static_cast<double>(rounds.decoding().cache_bytes());
  run.figures["prefill_flops"] = static_cast<double>(rounds.decoding().prompt_cost().flops);
  run.figures["decode_step_flops"] = static_cast<double>(step.flops);
  run.figures["decode_step_bytes"] = static_cast<double>(step.bytes_moved);
  if (run.images_per_second)
    run.figures["tokens_per_second"] = *run.images_per_second * static_cast<double>(tokens.new_tokens);
  if (times.tokens.empty()) return;
  const serve::Tail token = serve::tail_of(times.tokens);
  run.figures["median_token_seconds"] = token.median;
  run.figures["p95_token_seconds"] = token.p95;
  run.figures["p99_token_seconds"] = token.p99;
  const auto rate = [&](const std::vector<double>& seconds, double tokens_each) {
    return mean_sequences * tokens_each * static_cast<double>(seconds.size()) /
           std::accumulate(seconds.begin(), seconds.end(), 0.0);
  };
  run.figures["prefill_tokens_per_second"] = rate(times.prompts, static_cast<double>(tokens.prompt_tokens));
  run.figures["decode_tokens_per_second"] = rate(times.tokens, 1);
}

void add_first_token_figures(record::RunRecord& run, const serve::Tail& seconds) {
  run.figures["median_first_token_seconds"] = seconds.median;
  run.figures["p95_first_token_seconds"] = seconds.p95;
  run.figures["p99_first_token_seconds"] = seconds.p99;
}

}  // namespace trainyard::run
