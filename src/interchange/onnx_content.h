#pragma once

#include "base/mutex.h"
#include "graph/graph.h"
#include "interchange/onnx_model.h"

namespace trainyard::interchange {

// Returns the numbers of a tensor in plain order: f32, f16, bf16, f64, and integers, as raw bytes or as typed
// fields. Error (config), beginning with `who`, where they lie in another file, are too few or are of another
// type.
std::vector<double> read_content(const onnx::Tensor& tensor, const std::string& who);

// Says how the numbers of a weight in the file become those of a parameter of ours.
struct Arrangement {
  std::string name = {};  // equal names arrange equally; empty: as they are
  std::function<std::vector<double>(std::vector<double>)> apply = nullptr;
};

// Turns (rows, columns) into (columns, rows).
Arrangement transposed_matrix(std::int64_t rows, std::int64_t columns);

// The contents of the weights of one file. They are read once, whatever the number of graphs that are built
// from it. Any threads may use it.
class FileWeights {
 public:
  explicit FileWeights(std::string who) : who_(std::move(who)) {}

  // Returns an initializer that lists the weight's numbers.
  graph::Initializer initializer(const onnx::Tensor& tensor, const Arrangement& arrangement);

 private:
  const std::string who_;
  Mutex mutex_;
  std::map<std::string, graph::Initializer> read_ TRAINYARD_GUARDED_BY(mutex_);
};

}  // namespace trainyard::interchange
