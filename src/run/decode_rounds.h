#pragma once

#include "run/bench.h"
#include "serve/latency.h"
#include "train/session/decoding.h"

namespace trainyard::run {

// The seconds of rounds, as they came.
struct RoundTimes {
  std::vector<double> prompts, tokens;  // a round; a step that makes one more token of each sequence
};

// DecodeRounds makes text as `bench` times it: a round reads a prompt of each sequence, then makes new tokens
// one by one, each the likeliest. Prompts are tokens at random. The caller's thread runs it.
class DecodeRounds {
 public:
  // The decoder's steps are the prompt's.
  DecodeRounds(const train::DecodingOptions& network, const DecodeOptions& tokens);

  // Runs one round; returns the seconds from its begin to the first new tokens.
  double run(RoundTimes& times);

  train::Decoding& decoding() { return decoding_; }
  const train::Decoding& decoding() const { return decoding_; }
  graph::Cost round_cost() const;
  // Returns the cost of a step that makes tokens, as a mean over their places.
  graph::Cost step_cost() const;

 private:
  void choose(std::span<const float> logits);

  const DecodeOptions tokens_;
  train::Decoding decoding_;
  std::vector<std::int32_t> prompts_, chosen_;
};

// The network of a run as its text is made at this batch. Error (usage) where it makes none, or has no room
// for all tokens.
train::DecodingOptions to_decoding(const RunOptions& options, const DecodeOptions& tokens,
                                   std::int64_t batch);

// Adds the figures of group "decode" but for those of first tokens and bandwidth. `mean_sequences`: that a
// round had; one that was not full had fewer than its size.
void add_decode_figures(record::RunRecord& run, const DecodeOptions& tokens, const DecodeRounds& rounds,
                        const RoundTimes& times, double mean_sequences);

void add_first_token_figures(record::RunRecord& run, const serve::Tail& seconds);

}  // namespace trainyard::run
