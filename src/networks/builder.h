#pragma once

#include "graph/graph.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/sequence/cached_attention.h"
#include "ops/sequence/experts.h"
#include "ops/sequence/position.h"
#include "ops/sequence/recurrent.h"
#include "ops/smooth_unit.h"
#include "ops/window.h"

namespace trainyard::networks {

// Says how the weights of a layer start; the layer knows how many inputs feed one output, and the reverse.
class WeightInit {
 public:
  static constexpr WeightInit normal(double sigma) { return {Kind::normal, sigma}; }
  static constexpr WeightInit truncated_normal(double sigma) { return {Kind::truncated_normal, sigma}; }
  // TensorFlow's variance_scaling_initializer: variance factor / fan-in, measured after the truncation.
  static constexpr WeightInit variance_scaling(double factor) { return {Kind::variance_scaling, factor}; }
  // Truncated normal of sigma sqrt(factor / fan-in), measured before it.
  static constexpr WeightInit fan_in(double factor) { return {Kind::fan_in, factor}; }
  static constexpr WeightInit xavier_uniform() { return {Kind::xavier_uniform, 0}; }

  graph::Initializer for_fans(std::int64_t inputs, std::int64_t outputs) const;

 private:
  enum class Kind : std::uint8_t { normal, truncated_normal, variance_scaling, fan_in, xavier_uniform };
  constexpr WeightInit(Kind kind, double value) : kind_(kind), value_(value) {}

  Kind kind_;
  double value_;
};

// Standard deviation of a unit normal that is drawn again beyond two sigma.
inline constexpr double kTruncatedDeviation = 0.87962566103423978;

struct Kernel {
  std::int64_t h, w;
  constexpr Kernel(std::int64_t side) : h(side), w(side) {}  // NOLINT: 3 reads as 3x3
  constexpr Kernel(std::int64_t rows, std::int64_t columns) : h(rows), w(columns) {}
};

enum class Padding : std::uint8_t {
  same,     // TensorFlow's SAME: output = ceil(input / stride), an odd row or column goes below and right
  valid,    // none
  centred,  // (reach - 1) / 2 on either side whatever the stride, as residual networks pad
  fixed,    // so many rows and columns on every side as the layer's `pad` says
};

struct NormSpec {
  double decay = 0.9;  // share of the old value in the running statistics
  double epsilon = 1e-5;
  bool scale = true;  // false: gamma is one and not trained
  double gamma = 1;   // its first value
};

struct ConvSpec {
  std::int64_t filters = 0;
  Kernel kernel = 1;
  std::int64_t stride = 1;
  Padding padding = Padding::same;
  std::int64_t pad = 0;  // of Padding::fixed
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  std::optional<NormSpec> norm = std::nullopt;  // takes the place of the bias
  bool bias = true;
  double first_bias = 0;
  ops::Activation activation = ops::Activation::relu;
  WeightInit init = WeightInit::variance_scaling(1);
  bool shared = false;  // takes weight and bias of the layer of this name that was added before
};

// Each pixel becomes a window of `stride` times as many rows and columns, which overlap where the kernel is
// larger. It has no bias.
struct TransposedConvSpec {
  std::int64_t filters = 0;
  Kernel kernel = 2;
  std::int64_t stride = 2;
  std::optional<NormSpec> norm = std::nullopt;
  WeightInit init = WeightInit::variance_scaling(1);
};

struct DenseSpec {
  std::int64_t outputs = 0;
  double first_bias = 0;
  ops::Activation activation = ops::Activation::relu;
  std::optional<WeightInit> init = std::nullopt;  // none: fan_in(2) before a ReLU, else fan_in(1)
  double l2 = 0;                                  // adds l2 / 2 * sum of squared weights to the loss
  bool bias = true;
  graph::ValueId weight = graph::kNone;  // of another layer, to be shared; none: one of its own
};

struct LayerNormSpec {
  bool centred = true;  // false: RMS norm, without beta
  double epsilon = 1e-5;
};

struct PoolSpec {
  Kernel kernel = 2;
  std::int64_t stride = 2;
  Padding padding = Padding::valid;
  std::int64_t pad = 0;  // of Padding::fixed
};

struct EmbeddingSpec {
  std::int64_t vocabulary = 0, width = 0;
  WeightInit init = WeightInit::normal(1);
};

struct RouterSpec {
  std::int64_t experts = 0, choices = 0;
  double balance = 0;  // weight in the loss of the penalty on experts that are used more than others
  WeightInit init = WeightInit::normal(1);
};

struct GroupedDenseSpec {
  std::int64_t outputs = 0;
  WeightInit init = WeightInit::normal(1);
  bool bias = true;
};

struct RecurrentSpec {
  ops::RecurrentCell cell = ops::RecurrentCell::lstm;
  std::int64_t hidden = 0;
  WeightInit init = WeightInit::xavier_uniform();  // of each gate
};

// A Penalty is an L2 penalty that belongs to the network itself.
struct Penalty {
  graph::ValueId weight;
  double coefficient;
};

// An Imbalance is a penalty on the use of experts; see ops::balance_penalty_op.
struct Imbalance {
  ops::Balanced layer;
  double coefficient;
};

// Writes layers into a graph: one call makes the nodes, parameters and statistics of one layer. Parameters
// are called "layer/weight", "layer/bias", "layer/gamma", "layer/beta", "layer/recurrent_weight", inside the
// scopes that are open, and are the same in training and in inference.
class Builder {
 public:
  Builder(graph::Graph& graph, bool training, DType dtype = DType::f32)
      : graph_(graph), training_(training), dtype_(dtype) {}

  // Names made while it lives start with "name/".
  class Scope {
   public:
    Scope(std::string& prefix, const std::string& name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::string& prefix_;
    std::size_t outer_;
  };
  Scope scope(const std::string& name) { return Scope(prefix_, name); }

  graph::ValueId conv(const std::string& name, graph::ValueId x, const ConvSpec& spec);
  graph::ValueId transposed_conv(const std::string& name, graph::ValueId x, const TransposedConvSpec& spec);
  graph::ValueId dense(const std::string& name, graph::ValueId x, const DenseSpec& spec);
  // Adds the last layer of every network: a dense layer called "logits", without activation.
  graph::ValueId logits(graph::ValueId x, int classes, DenseSpec spec = {});
  // Returns the weight of a layer that was added before.
  graph::ValueId weight_of(const std::string& layer) const;
  // ids (i32 T, N) -> (T, N, width)
  graph::ValueId embedding(const std::string& name, graph::ValueId ids, const EmbeddingSpec& spec);
  // (T, N, inputs) -> (T, N, hidden)
  graph::ValueId recurrent(const std::string& name, graph::ValueId x, const RecurrentSpec& spec);
  graph::ValueId batch_norm(const std::string& name, graph::ValueId x, const NormSpec& spec);
  graph::ValueId layer_norm(const std::string& name, graph::ValueId x, const LayerNormSpec& spec);
  // qkv (R, ...) -> (R, heads * head size); see ops/attention.h
  graph::ValueId attention(const std::string& name, graph::ValueId qkv, const ops::AttentionAttrs& attrs);
  graph::ValueId rotary(const std::string& name, graph::ValueId x, graph::ValueId first,
                        const ops::RotaryAttrs& attrs);
  graph::ValueId cached_attention(const std::string& name, const ops::CachedAttentionInputs& inputs,
                                  const ops::CachedAttentionAttrs& attrs);
  // rows (R, W) -> where each of them goes. The router is a dense layer without a bias.
  ops::Routed route(const std::string& name, graph::ValueId x, const RouterSpec& spec);
  graph::ValueId dispatch(const std::string& name, graph::ValueId x, const ops::Routed& routed);
  // rows sorted by expert (S, inputs) -> (S, outputs), each by the weights of its expert
  graph::ValueId grouped_dense(const std::string& name, graph::ValueId x, const ops::Routed& routed,
                               const GroupedDenseSpec& spec);
  graph::ValueId combine(const std::string& name, graph::ValueId x, const ops::Routed& routed);
  graph::ValueId smooth_unit(const std::string& name, graph::ValueId x, const ops::SmoothUnitAttrs& attrs);
  // Returns the tables that make steps know their place: trained vectors "name/weight", or the sinusoids
  // "name/table", which are not trained.
  graph::ValueId learned_positions(const std::string& name, std::int64_t steps, std::int64_t width,
                                   WeightInit init);
  graph::ValueId sinusoidal_positions(const std::string& name, std::int64_t steps, std::int64_t width);
  // Adds rows of such a table: to steps from the first on, or to steps at given places (i32 T, N).
  graph::ValueId add_positions(const std::string& name, graph::ValueId x, graph::ValueId table,
                               const ops::SequenceRows& rows);
  graph::ValueId add_positions_at(const std::string& name, graph::ValueId x, graph::ValueId table,
                                  graph::ValueId places);
  // A statistic of zeros, "name", which later steps read and write.
  graph::ValueId cache(const std::string& name, const Shape& shape);
  graph::ValueId max_pool(const std::string& name, graph::ValueId x, const PoolSpec& spec);
  graph::ValueId upsample(const std::string& name, graph::ValueId x, std::int64_t factor = 2);
  graph::ValueId average_pool(const std::string& name, graph::ValueId x, const PoolSpec& spec);
  graph::ValueId global_average_pool(const std::string& name, graph::ValueId x);
  graph::ValueId lrn(const std::string& name, graph::ValueId x, const ops::LocalResponseNormAttrs& attrs);
  graph::ValueId activation(const std::string& name, graph::ValueId x, ops::Activation kind);
  graph::ValueId relu(const std::string& name, graph::ValueId x);
  graph::ValueId dropout(const std::string& name, graph::ValueId x, double rate);  // x itself in inference
  graph::ValueId concat(const std::string& name, std::vector<graph::ValueId> parts);
  graph::ValueId add(const std::string& name, std::vector<graph::ValueId> terms);
  graph::ValueId scale(const std::string& name, graph::ValueId x, double factor);
  // Zero channels on either side until there are `channels`.
  graph::ValueId pad_channels(const std::string& name, graph::ValueId x, std::int64_t channels);

  graph::Graph& graph() { return graph_; }
  std::int64_t channels(graph::ValueId x) const { return graph_.shape(x)[1]; }
  const std::vector<Penalty>& penalties() const { return penalties_; }
  const std::vector<Imbalance>& imbalances() const { return imbalances_; }  // none in inference

 private:
  graph::ValueId parameter(const std::string& layer, const char* name, const Shape& shape,
                           graph::Initializer initializer);
  graph::ValueId statistic(const std::string& layer, const char* name, const Shape& shape, double value);
  graph::ValueId norm_node(const std::string& layer, const std::string& node, graph::ValueId x,
                           const NormSpec& spec);
  // Sets the padding for an image of this size.
  static ops::Window2d padded(ops::Window2d window, Padding padding, std::int64_t pad, std::int64_t height,
                              std::int64_t width);
  ops::Window2d window(graph::ValueId x, const PoolSpec& spec) const;

  graph::Graph& graph_;
  bool training_;
  DType dtype_;
  std::string prefix_;
  std::vector<Penalty> penalties_;
  std::vector<Imbalance> imbalances_;
};

}  // namespace trainyard::networks
