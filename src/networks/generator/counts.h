#pragma once

#include "graph/graph.h"

namespace trainyard::networks::generator {

// Counts the work and memory of a step of a network, in f32. All counts follow from the unfused graph:
// kernels that do several nodes at once move fewer bytes and keep less, and no executed step has more flops
// than these. Training has a loss and its labels, inference neither.
struct Counts {
  std::int64_t parameters = 0;
  // Counts matrix products and convolutions, two for each multiply-add. No gradient of the input is computed.
  std::int64_t forward_flops = 0, backward_flops = 0;
  // Each node reads its inputs and writes its outputs once; an update reads and writes what it changes.
  std::int64_t compulsory_bytes = 0;
  // Counts values that the forward pass makes and the backward pass reads; inference has none.
  std::int64_t saved_bytes = 0;
  // Counts the memory that is needed at once: parameters, gradients, optimizer state, statistics, inputs,
  // outputs, all saved values, and everything else that lives while the most demanding node runs. A value
  // lives from the node that makes it to the last one that reads it. A reshape makes a value of its own.
  std::int64_t peak_bytes = 0;

  std::int64_t flops() const {  // kUncountable when either is, or both together
    return backward_flops > std::numeric_limits<std::int64_t>::max() - forward_flops
               ? std::numeric_limits<std::int64_t>::max()
               : forward_flops + backward_flops;
  }
  bool operator==(const Counts&) const = default;
};

// This value stands for a count that 64 bits cannot hold.
inline constexpr std::int64_t kUncountable = std::numeric_limits<std::int64_t>::max();

struct CountOptions {
  std::int64_t batch = 1;
  bool training = true;
  int slots = 0;  // of the optimizer: state tensors per parameter
};

// Computes the same by walking a graph, with or without a training step. REQUIRES: counts that fit 64 bits.
Counts count_graph(const graph::Graph& graph);

// Adds up what the layers of a network cost, by formulas: of every linear layer (M, K) -> N with element size
// s, forward, input gradient and weight gradient move s (MK + KN + MN) each, and so on; no graph is built.
// Sums that exceed 64 bits are kUncountable.
class LayerCounts {
 public:
  __extension__ typedef __int128 Wide;  // a product of the largest sizes that tables allow fits

  explicit LayerCounts(const CountOptions& options) : options_(options), batch_(options.batch) {}

  // Sizes are of one sample, here and below. The first layer reads the input, which needs no gradient.
  void input(Wide elements);  // in training with a label
  void dense(Wide inputs, Wide outputs, bool first);
  // The last layer, so many times for every sample. Where it shares its weight, that counts elsewhere, and
  // its gradient is one part of a sum.
  struct LastWeight {
    bool bias = true, shared = false;
  };
  void logits(Wide inputs, Wide outputs, Wide rows, const LastWeight& weight);
  void logits(Wide inputs, Wide outputs, Wide rows = 1) { logits(inputs, outputs, rows, {}); }
  void conv(Wide kernel, Wide channels, Wide filters, Wide in_side, Wide out_side, bool first);
  void batch_norm(Wide channels, Wide elements);
  void relu(Wide elements);
  void add(Wide elements, bool one_is_saved);
  void sum_of_gradients(Wide elements);  // of a value that two layers read
  void max_pool(Wide in, Wide out);
  void average_pool(Wide in, Wide out);
  void softmax_cross_entropy(Wide classes);

  // The following layers work on sequences.
  // In so many rows (SequenceSizes), which hold the labels too; in training also the lengths.
  void tokens(Wide length, Wide rows);
  void embedding(Wide vocabulary, Wide width, Wide length);
  struct Cell {
    Wide gates;        // 1, 4 and 3 blocks of weights: rnn, lstm, gru
    bool keeps_gates;  // for the backward pass
  };
  void recurrent(const Cell& cell, Wide inputs, Wide hidden, Wide length);
  void reshape(Wide elements);
  void sequence_cross_entropy(Wide vocabulary, Wide length);

  // These count one node of other layers: the flops of its products, the bytes that it moves, and the bytes
  // of what it reads and writes that nothing else keeps, in training and in inference.
  void forward_node(Wide flops, Wide moved, Wide alone_in_training, Wide alone_in_inference);
  void backward_node(Wide flops, Wide moved, Wide alone);
  void parameter(Wide elements) { parameters_ += elements; }
  void statistic(Wide elements);
  // Adds bytes that a forward node makes and a backward node reads.
  void save(Wide bytes) {
    if (options_.training) saved_ += bytes;
  }
  Wide batch() const { return batch_; }
  Wide floats(Wide elements) const;  // bytes of so many numbers in each sample
  bool trains() const { return options_.training; }

  // Bytes that were made before some nodes and are read behind them: in the forward pass of training, where
  // they are not saved, in that of inference, and in the backward pass.
  struct Waits {
    Wide training = 0, inference = 0, backward = 0;
  };
  // They wait beside all nodes that are counted while it lives.
  class Waiting {
   public:
    Waiting(LayerCounts& layers, const Waits& waits) : layers_(layers), waits_(waits) {
      layers_.wait(1, waits_);
    }
    ~Waiting() { layers_.wait(-1, waits_); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    LayerCounts& layers_;
    const Waits waits_;
  };

  // Returns the counts, with the update of all parameters where there is one.
  Counts finish() const;

 private:
  void linear(Wide rows, Wide inputs, Wide outputs, bool first);
  void forward(Wide bytes) { bytes_ += bytes; }
  void backward(Wide bytes) {
    if (options_.training) bytes_ += bytes;
  }
  // Raise the peak to the needs of one node and to what waits; inference saves nothing, so there a node
  // counts in full.
  void forward_needs(Wide training, Wide inference) {
    raise(options_.training ? training + waits_.training : inference + waits_.inference);
  }
  void backward_needs(Wide bytes) {
    if (options_.training) raise(bytes + waits_.backward);
  }
  void raise(Wide bytes) {
    if (bytes > transient_) transient_ = bytes;
  }
  void wait(int sign, const Waits& waits) {
    waits_.training += sign * waits.training;
    waits_.inference += sign * waits.inference;
    waits_.backward += sign * waits.backward;
  }

  const CountOptions options_;
  const Wide batch_;
  Waits waits_;
  Wide parameters_ = 0, forward_flops_ = 0, backward_flops_ = 0, bytes_ = 0, saved_ = 0, kept_ = 0,
       transient_ = 0;
};

}  // namespace trainyard::networks::generator
