#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/synthetic.h"
#include "train/match_input.h"
#include "train/session.h"

namespace trainyard {

// A small set of images that every device can keep.
data::Dataset small_dataset(const Shape& image_shape);

// A network in training, as `trainyard train` runs it: on a GPU the data set lies in its memory and steps are
// launched several at once; on the CPU the host makes the batches.
class Curve {
 public:
  // The data set must outlive it.
  Curve(train::SessionOptions options, const data::Dataset& dataset);

  train::Session& session() { return *session_; }
  // Losses of steps [first, first + count).
  std::vector<float> run(std::int64_t first, std::int64_t count);
  // Values that outlive a step, in plain order: those whose names end so.
  std::vector<float> state(const std::string& ending = "") const;

 private:
  const data::Dataset& dataset_;
  train::MatchedInput input_;
  std::unique_ptr<train::Session> session_;
  bool resident_ = false;
};

// Largest difference over the largest value of `want`; infinite where something is not a number.
double relative_error(const std::vector<float>& got, const std::vector<float>& want);

}  // namespace trainyard
