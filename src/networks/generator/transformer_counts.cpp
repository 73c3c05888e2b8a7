// This file counts what each node of a transformer's step costs, in the order of its graph. Between nodes the
// names are: rows, a matrix with one row a step; qkv, the queries, keys and values of a step; hidden, what
// the unit of the feed-forward part makes, and unit_in, what it reads. Of experts, chosen is a
// number for each choice of a token, and sorted, unit_in and hidden have a row for each.

#include "networks/generator/generator.h"
#include "ops/sequence/attention.h"

namespace trainyard::networks::generator {
namespace {

using Wide = LayerCounts::Wide;
using Sizes = TransformerSizes;

constexpr Wide kFloat = 4, kId = 4;  // bytes

class TransformerCounts {
 public:
  TransformerCounts(const Sizes& sizes, const CountOptions& options)
      : sizes_(sizes),
        layers_(options),
        steps_(layers_.batch() * sizes.length),
        choices_(sizes.routes() ? sizes.choices : 1),
        rows_(kFloat * steps_ * sizes.width),
        qkv_(kFloat * steps_ * sizes.qkv_width()),
        hidden_(kFloat * steps_ * choices_ * sizes.hidden),
        unit_in_(sizes.gated() ? 2 * hidden_ : hidden_),
        scores_(kFloat * steps_ * sizes.experts),
        chosen_(kFloat * steps_ * choices_),
        sorted_(choices_ * rows_),
        offsets_(kId * (Wide{sizes.experts} + 1)) {}

  Counts count() {
    const SequenceSizes tokens{sizes_.length, sizes_.vocabulary, !sizes_.causal};
    layers_.tokens(sizes_.length, tokens.rows());
    embedding();
    // There are as many norms at either place: the one behind the last layer, or behind the embeddings.
    for (std::int64_t layer = 0; layer < sizes_.layers; ++layer) {
      norm();
      attention();
      residual();
      norm();
      if (sizes_.routes())
        experts();
      else
        feed_forward();
      residual();
    }
    norm();
    if (sizes_.transforms) transform();
    logits();
    layers_.sequence_cross_entropy(sizes_.vocabulary, sizes_.length);
    if (balances()) balance_penalty();
    return layers_.finish();
  }

 private:
  // The bytes that nothing but the nodes of a linear layer keeps, of each of its nodes.
  struct Alone {
    Wide forward, inference, d_weight, d_src;
  };
  void linear(Wide inputs, Wide outputs, bool bias, const Alone& alone) {
    const Wide weight = kFloat * inputs * outputs, bias_bytes = bias ? kFloat * outputs : 0,
               in = kFloat * steps_ * inputs, out = kFloat * steps_ * outputs,
               flops = 2 * steps_ * inputs * outputs;
    layers_.parameter(inputs * outputs + (bias ? outputs : 0));
    layers_.forward_node(flops, in + weight + bias_bytes + out, alone.forward, alone.inference);
    layers_.backward_node(flops, out + in + weight + bias_bytes, alone.d_weight);
    layers_.backward_node(flops, out + weight + in, alone.d_src);
  }

  // Ids -> rows, with the positions of steps.
  void embedding() {
    const Wide ids = kId * steps_, table = kFloat * sizes_.vocabulary * sizes_.width;
    const bool adds =
        sizes_.positions == Sizes::Positions::learned || sizes_.positions == Sizes::Positions::sinusoidal;
    layers_.parameter(Wide{sizes_.vocabulary} * sizes_.width);
    layers_.forward_node(0, ids + 2 * rows_, rows_, ids + rows_);
    layers_.forward_node(0, 0, adds ? 2 * rows_ : rows_, 2 * rows_);  // to a matrix of rows
    if (adds) positions();
    layers_.save(rows_);
    layers_.backward_node(0, 0, 2 * rows_);
    layers_.backward_node(0, rows_ + ids + table, rows_ + (sizes_.tied ? table : 0));
  }

  void positions() {
    const bool learned = sizes_.positions == Sizes::Positions::learned;
    const Wide numbers = Wide{sizes_.length} * sizes_.width, table = kFloat * numbers;
    if (learned)
      layers_.parameter(numbers);
    else
      layers_.statistic(numbers);
    layers_.forward_node(0, 2 * rows_ + table, rows_, 2 * rows_);
    if (learned) layers_.backward_node(0, rows_ + table, rows_);
  }

  void norm() {
    const Wide vectors = sizes_.rms_norm ? 1 : 2, channels = kFloat * vectors * sizes_.width,
               statistics = kFloat * vectors * steps_;
    layers_.parameter(vectors * sizes_.width);
    layers_.forward_node(0, 2 * rows_ + channels + statistics, 0, 2 * rows_ + statistics);
    layers_.save(rows_ + statistics);
    layers_.backward_node(0, 3 * rows_ + channels + kFloat * sizes_.width + statistics, 2 * rows_);
  }

  void attention() {
    const Wide log_sums = kFloat * steps_ * sizes_.heads,
               product = 2 * layers_.batch() * sizes_.heads * sizes_.head_size() *
                         ops::attended_pairs(sizes_.length, sizes_.causal);
    const bool rotated = sizes_.positions == Sizes::Positions::rotary;
    linear(
        sizes_.width, sizes_.qkv_width(), sizes_.bias,
        {.forward = rotated ? qkv_ : 0, .inference = rows_ + qkv_, .d_weight = qkv_, .d_src = qkv_ + rows_});
    if (rotated) {
      layers_.forward_node(0, 2 * qkv_, qkv_, 2 * qkv_);
      layers_.backward_node(0, 2 * qkv_, 2 * qkv_);
    }
    layers_.save(qkv_);
    layers_.forward_node(2 * product, qkv_ + rows_ + log_sums, 0, qkv_ + rows_ + log_sums);
    layers_.save(rows_ + log_sums);
    layers_.backward_node(4 * product, 2 * rows_ + 2 * qkv_ + log_sums, rows_ + qkv_);
    linear(sizes_.width, sizes_.width, sizes_.bias,
           {.forward = rows_, .inference = 2 * rows_, .d_weight = rows_, .d_src = 2 * rows_});
  }

  // The stream and what a part adds to it; the next part and the next sum read it, so its gradient is a sum.
  void residual() {
    layers_.forward_node(0, 3 * rows_, rows_, 3 * rows_);
    layers_.save(rows_);
    layers_.backward_node(0, 3 * rows_, 3 * rows_);
  }

  void feed_forward() {
    const Wide in = sizes_.gated() ? 2 * Wide{sizes_.hidden} : Wide{sizes_.hidden};
    linear(sizes_.width, in, sizes_.bias,
           {.forward = by_output() ? unit_in_ : 0,
            .inference = rows_ + unit_in_,
            .d_weight = unit_in_,
            .d_src = unit_in_ + rows_});
    unit();
    linear(sizes_.hidden, sizes_.width, sizes_.bias,
           {.forward = rows_, .inference = hidden_ + rows_, .d_weight = rows_, .d_src = rows_ + hidden_});
  }

  // The gradient of the unit follows from its output.
  bool by_output() const { return sizes_.unit == Sizes::Unit::relu; }

  void unit() {
    layers_.forward_node(0, unit_in_ + hidden_, by_output() ? unit_in_ : 0, unit_in_ + hidden_);
    layers_.save(by_output() ? hidden_ : unit_in_ + hidden_);
    layers_.backward_node(0, hidden_ + 2 * unit_in_, hidden_ + unit_in_);
  }

  bool balances() const { return sizes_.routes() && sizes_.balance > 0 && layers_.trains(); }

  void experts() {
    route();
    layers_.forward_node(0, rows_ + chosen_ + sorted_, 0, rows_ + chosen_ + sorted_);  // dispatch
    layers_.save(sorted_);
    layers_.backward_node(0, sorted_ + chosen_ + rows_, sorted_ + rows_);
    // Both gradients of what the router and the experts read; of a sum before a norm, one more in the same
    // node.
    const Wide summed = sizes_.post_norm ? rows_ : 3 * rows_;
    layers_.backward_node(0, summed, sizes_.post_norm ? 4 * rows_ : summed);
    const Wide in = sizes_.gated() ? 2 * Wide{sizes_.hidden} : Wide{sizes_.hidden};
    grouped(sizes_.width, in,
            {.forward = by_output() ? unit_in_ : 0,
             .inference = sorted_ + unit_in_ + offsets_,
             .d_weight = unit_in_,
             .d_src = unit_in_ + sorted_});
    unit();
    grouped(sizes_.hidden, sizes_.width,
            {.forward = 0,
             .inference = hidden_ + sorted_ + offsets_,
             .d_weight = sorted_,
             .d_src = sorted_ + hidden_});
    layers_.save(sorted_);
    const Wide combined = sorted_ + 2 * chosen_ + rows_;
    layers_.forward_node(0, combined, rows_, combined);
    layers_.backward_node(0, combined + sorted_ + chosen_, rows_ + sorted_ + chosen_);
  }

  // Router, and what becomes of its scores: gates, experts, places, and the rows of each expert.
  void route() {
    const Wide kept_scores = balances() ? scores_ : 0, made = 3 * chosen_ + offsets_;
    linear(sizes_.width, sizes_.experts, false,
           {.forward = scores_ - kept_scores,
            .inference = rows_ + scores_,
            .d_weight = scores_,
            .d_src = scores_ + rows_});
    layers_.forward_node(0, scores_ + made, scores_ - kept_scores, scores_ + made);
    layers_.save(kept_scores + made);
    layers_.backward_node(0, 3 * chosen_ + scores_, chosen_ + scores_);
    if (!balances()) return;
    layers_.backward_node(0, kFloat + 2 * scores_ + offsets_, kFloat + scores_);
    layers_.backward_node(0, 3 * scores_, 3 * scores_);  // both gradients of the scores
  }

  // A dense layer of each expert on its rows.
  void grouped(Wide inputs, Wide outputs, const Alone& alone) {
    const Wide biases = sizes_.bias ? sizes_.experts * outputs : 0,
               weight = kFloat * sizes_.experts * inputs * outputs, in = kFloat * steps_ * choices_ * inputs,
               out = kFloat * steps_ * choices_ * outputs, flops = 2 * steps_ * choices_ * inputs * outputs;
    layers_.parameter(sizes_.experts * inputs * outputs + biases);
    layers_.forward_node(flops, in + weight + offsets_ + kFloat * biases + out, alone.forward,
                         alone.inference);
    layers_.backward_node(flops, out + in + offsets_ + weight + kFloat * biases, alone.d_weight);
    layers_.backward_node(flops, out + weight + offsets_ + in, alone.d_src);
  }

  // The penalty of all layers, and the sum of it and of the mean loss.
  void balance_penalty() {
    layers_.forward_node(0, sizes_.layers * (scores_ + offsets_) + kFloat, kFloat, 0);
    layers_.forward_node(0, 3 * kFloat, 2 * kFloat, 0);
  }

  // A dense layer, GELU and a norm.
  void transform() {
    linear(sizes_.width, sizes_.width, sizes_.bias,
           {.forward = 0, .inference = 2 * rows_, .d_weight = rows_, .d_src = 2 * rows_});
    layers_.forward_node(0, 2 * rows_, 0, 2 * rows_);
    layers_.save(2 * rows_);
    layers_.backward_node(0, 3 * rows_, 2 * rows_);
    norm();
  }

  void logits() {
    layers_.logits(sizes_.width, sizes_.vocabulary, sizes_.length,
                   {.bias = sizes_.transforms, .shared = sizes_.tied});
    if (!sizes_.tied) return;
    const Wide table = kFloat * sizes_.vocabulary * sizes_.width;
    layers_.backward_node(0, 3 * table, 2 * table);  // the sum of both parts of the gradient
  }

  const Sizes sizes_;
  LayerCounts layers_;
  const Wide steps_, choices_, rows_, qkv_, hidden_, unit_in_, scores_, chosen_, sorted_, offsets_;
};

}  // namespace

Counts count_transformer(const Parameters& parameters, int, const CountOptions& options) {
  return TransformerCounts(transformer_sizes(parameters), options).count();
}

}  // namespace trainyard::networks::generator
