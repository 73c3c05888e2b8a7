#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/augment.h"
#include "data/dataset.h"

namespace trainyard::data {

// training: shuffled, augmented, without end. evaluation: in order, once, nothing random.
enum class Pass { training, evaluation };

struct BatchStreamOptions {
  Pass pass = Pass::training;
  Split split = Split::train;
  Preprocess preprocess;
  std::int64_t batch = 128;
  std::uint64_t seed = 1;
  std::int64_t first_step = 0;  // where a resumed run goes on
  std::int64_t depth = 4;       // batches made ahead; 0: by whoever asks for them
  int threads = 1;
  // Data parallel runs: this worker's share is every `workers`-th batch of one common order.
  std::int64_t worker = 0, workers = 1;
  // Is told of each batch that was made, by now_seconds(), in the thread that made it; null: nobody is.
  std::function<void(std::int64_t step, double began, double ended)> made = nullptr;
};

// Makes the batch of any step in memory of the caller's. A batch depends on the options and its step alone,
// not on threads, depth or first_step. Used by any number of threads at once.
class BatchMaker {
 public:
  virtual ~BatchMaker() = default;

  const BatchStreamOptions& options() const { return options_; }
  // Of a whole batch. Beside it there is an i32 for each sample: its label, or its length.
  virtual Shape input_shape() const = 0;
  virtual DType input_type() const = 0;
  virtual std::int64_t steps() const = 0;

  // Room that a batch needs while it is made.
  using Scratch = std::vector<std::uint8_t>;
  virtual Scratch scratch() const { return {}; }
  // Returns the samples that count: fewer than the batch only at the end of an evaluation pass.
  std::int64_t make(std::int64_t step, std::byte* inputs, std::int32_t* labels, Scratch& scratch) const;

  // True: what a batch is made of is needed until a device has used it, and used() is told in the order of
  // the steps, by whoever takes the batches.
  virtual bool lends() const { return false; }
  virtual void used(std::int64_t /*step*/) const {}

 protected:
  // Error (config) for options that no batch can have.
  explicit BatchMaker(const BatchStreamOptions& options);

 private:
  virtual std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                            Scratch& scratch) const = 0;

  const BatchStreamOptions options_;
};

// Makers of one source, by what is wanted of it.
using MakeBatches = std::function<std::shared_ptr<const BatchMaker>(const BatchStreamOptions& options)>;

}  // namespace trainyard::data
