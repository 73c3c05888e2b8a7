// This file counts what each node of a transformer's step costs, in the order of its graph. Between nodes the
// names are: rows, a matrix with one row a step; qkv, the queries, keys and values of a step; hidden, what
// the unit of the feed-forward part makes, and unit_in, what it reads. Of experts, chosen is a
// number for each choice of a token, and sorted, unit_in and hidden have a row for each. The stream is what
// each part of a layer reads, by way of a norm or not, and is added to; beside the part waits the stream
// where nothing is saved, and the gradient of their sum in the backward pass, which is also that of the
// stream.

#include "networks/generator/generator.h"
#include "ops/sequence/attention.h"

namespace trainyard::networks::generator {
namespace {

using Wide = LayerCounts::Wide;
using Waiting = LayerCounts::Waiting;
using Waits = LayerCounts::Waits;
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
        offsets_(kId * (Wide{sizes.experts} + 1)),
        table_(kFloat * sizes.vocabulary * sizes.width),
        penalised_(balances() ? scores_ : 0) {}

  Counts count() {
    const SequenceSizes tokens{sizes_.length, sizes_.vocabulary, !sizes_.causal};
    layers_.tokens(sizes_.length, tokens.rows());
    {
      // A shared table's gradient has a part of the logits, which waits for that of the embedding.
      const Waiting table(layers_, {.backward = sizes_.tied ? table_ : 0});
      embedding();
      for (std::int64_t layer = 0; layer < sizes_.layers; ++layer) {
        const Waiting penalties(layers_, penalties_of(layer));
        stream_norm();
        attention();
        residual();
        stream_norm();
        if (sizes_.routes())
          experts();
        else
          feed_forward();
        residual();
      }
    }
    head();
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

  // The penalty's gradients of the scores are made first of all, and wait for the backward pass of their
  // layer.
  Waits penalties_of(Wide layers) const { return {.backward = layers * penalised_}; }
  // Counts what waits beside the layer that reads the input of a part: without a norm that is the stream.
  Waits beside_first() const { return {.inference = sizes_.post_norm ? 0 : rows_, .backward = rows_}; }
  Waits beside_inner() const { return {.inference = rows_, .backward = rows_}; }
  // The last layer of a part reads the gradient that waits beside the others.
  Waits beside_last() const { return {.inference = rows_}; }

  // Ids -> rows, with the positions of steps; where norms are behind sums, one is behind these, too.
  void embedding() {
    const Wide ids = kId * steps_;
    const bool adds =
        sizes_.positions == Sizes::Positions::learned || sizes_.positions == Sizes::Positions::sinusoidal;
    layers_.parameter(Wide{sizes_.vocabulary} * sizes_.width);
    layers_.forward_node(0, ids + 2 * rows_, rows_, ids + rows_);
    layers_.forward_node(0, 0, adds ? 2 * rows_ : rows_, 2 * rows_);  // to a matrix of rows
    if (adds) positions();
    layers_.save(rows_);
    layers_.backward_node(0, 0, 2 * rows_);
    layers_.backward_node(0, rows_ + ids + table_, rows_ + (sizes_.tied ? table_ : 0));
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

  // There are as many norms in layers at either place: that of the next layer, or of the embeddings, is
  // behind the sum.
  void stream_norm() {
    const Waiting stream(layers_, {.backward = sizes_.post_norm ? 0 : rows_});
    norm();
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
    {
      const Waiting stream(layers_, beside_first());
      linear(sizes_.width, sizes_.qkv_width(), sizes_.bias,
             {.forward = rotated ? qkv_ : 0,
              .inference = rows_ + qkv_,
              .d_weight = qkv_,
              .d_src = qkv_ + rows_});
    }
    {
      const Waiting stream(layers_, beside_inner());
      if (rotated) {
        layers_.forward_node(0, 2 * qkv_, qkv_, 2 * qkv_);
        layers_.backward_node(0, 2 * qkv_, 2 * qkv_);
      }
      layers_.save(qkv_);
      layers_.forward_node(2 * product, qkv_ + rows_ + log_sums, 0, qkv_ + rows_ + log_sums);
      layers_.save(rows_ + log_sums);
      layers_.backward_node(4 * product, 2 * rows_ + 2 * qkv_ + log_sums, rows_ + qkv_);
    }
    const Waiting stream(layers_, beside_last());
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
    {
      const Waiting stream(layers_, beside_first());
      linear(sizes_.width, in, sizes_.bias,
             {.forward = by_output() ? unit_in_ : 0,
              .inference = rows_ + unit_in_,
              .d_weight = unit_in_,
              .d_src = unit_in_ + rows_});
    }
    {
      const Waiting stream(layers_, beside_inner());
      unit();
    }
    const Waiting stream(layers_, beside_last());
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
    {
      const Waiting stream(layers_, beside_first()), penalty(layers_, penalties_of(1));
      // Gates and offsets wait for the experts, and in the backward pass the gradient of the gates.
      const Waiting routed(layers_, {.inference = chosen_ + offsets_, .backward = chosen_});
      layers_.forward_node(0, rows_ + chosen_ + sorted_, 0, rows_ + chosen_ + sorted_);  // dispatch
      layers_.save(sorted_);
      layers_.backward_node(0, sorted_ + chosen_ + rows_, sorted_ + rows_);
    }
    experts_of_rows();
    const Waiting stream(layers_, beside_last()), penalty(layers_, penalties_of(1));
    layers_.save(sorted_);
    const Wide combined = sorted_ + 2 * chosen_ + rows_;
    layers_.forward_node(0, combined, rows_, combined);
    layers_.backward_node(0, combined + sorted_ + chosen_, rows_ + sorted_ + chosen_);
  }

  // Beside the experts wait gates and places, for the sum of their rows.
  void experts_of_rows() {
    const Waiting stream(layers_, beside_inner()), penalty(layers_, penalties_of(1));
    const Waiting routed(layers_, {.inference = 2 * chosen_, .backward = chosen_});
    const Wide in = sizes_.gated() ? 2 * Wide{sizes_.hidden} : Wide{sizes_.hidden};
    grouped(sizes_.width, in,
            {.forward = by_output() ? unit_in_ : 0,
             .inference = sorted_ + unit_in_ + offsets_,
             .d_weight = unit_in_,
             .d_src = unit_in_ + sorted_});
    {
      const Waiting offsets(layers_, {.inference = offsets_});
      unit();
    }
    grouped(sizes_.hidden, sizes_.width,
            {.forward = 0,
             .inference = hidden_ + sorted_ + offsets_,
             .d_weight = sorted_,
             .d_src = sorted_ + hidden_});
  }

  // Router, and what becomes of its scores: gates, experts, places, and the rows of each expert.
  void route() {
    const Wide made = 3 * chosen_ + offsets_;
    {
      const Waiting stream(layers_, beside_first());
      // Both gradients of what the router and the experts read; of a sum before a norm, one more in the same
      // node.
      layers_.backward_node(0, sizes_.post_norm ? rows_ : 3 * rows_, 3 * rows_);
      // That of the experts comes first.
      const Waiting of_experts(layers_, {.backward = rows_});
      linear(sizes_.width, sizes_.experts, false,
             {.forward = scores_ - penalised_,
              .inference = rows_ + scores_,
              .d_weight = scores_,
              .d_src = scores_ + rows_});
      if (balances()) layers_.backward_node(0, 3 * scores_, 3 * scores_);  // both gradients of the scores
    }
    const Waiting stream(layers_, beside_first()), penalty(layers_, penalties_of(1));
    const Waiting of_experts(layers_, {.inference = rows_, .backward = rows_});  // which read the same rows
    layers_.forward_node(0, scores_ + made, scores_ - penalised_, scores_ + made);
    layers_.save(penalised_ + made);
    layers_.backward_node(0, 3 * chosen_ + scores_, chosen_ + scores_);
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
    layers_.forward_node(0, sizes_.layers * (scores_ + offsets_) + kFloat, 2 * kFloat, 0);
    layers_.forward_node(0, 3 * kFloat, 2 * kFloat, 0);
    for (Wide layer = 1; layer <= sizes_.layers; ++layer)
      layers_.backward_node(0, kFloat + 2 * scores_ + offsets_, kFloat + layer * scores_);
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

  // Counts everything behind the layers, up to the loss.
  void head() {
    if (sizes_.tied)
      layers_.backward_node(0, 3 * table_, 2 * table_);  // the sum of both parts of the gradient
    const Waiting penalties(layers_, penalties_of(sizes_.layers));
    {
      const Waiting table(layers_, {.backward = sizes_.tied ? table_ : 0});
      norm();
      if (sizes_.transforms) transform();
    }
    layers_.logits(sizes_.width, sizes_.vocabulary, sizes_.length,
                   {.bias = sizes_.transforms, .shared = sizes_.tied});
    layers_.sequence_cross_entropy(sizes_.vocabulary, sizes_.length);
  }

  const Sizes sizes_;
  LayerCounts layers_;
  const Wide steps_, choices_, rows_, qkv_, hidden_, unit_in_, scores_, chosen_, sorted_, offsets_, table_,
      penalised_;
};

}  // namespace

Counts count_transformer(const Parameters& parameters, int, const CountOptions& options) {
  return TransformerCounts(transformer_sizes(parameters), options).count();
}

}  // namespace trainyard::networks::generator
