#pragma once

#include <string>
#include <vector>

#include "data/source/dataset.h"
#include "data/source/synthetic.h"
#include "train/loop/feed.h"
#include "train/session/evaluate.h"
#include "train/session/session.h"

namespace trainyard {

// A small set of images that every device can keep.
data::Dataset small_dataset(const Shape& image_shape);

// A network in training, as `trainyard train` runs it: on a GPU with batches from wherever `feed` says, on
// the CPU with those that the host makes.
class Curve {
 public:
  // The data set must outlive it.
  Curve(train::SessionOptions options, const data::Dataset& dataset,
        train::Feed feed = train::Feed::automatic);

  train::Session& session() { return *session_; }
  // Returns the losses of steps [first, first + count). When the host feeds a GPU, they continue from step 0.
  std::vector<float> run(std::int64_t first, std::int64_t count);
  // Values that outlive a step, in plain order: those whose names end so.
  std::vector<float> state(const std::string& ending = "") const;

 private:
  const data::Dataset& dataset_;
  train::MatchedInput input_;
  std::unique_ptr<train::Session> session_;
  std::unique_ptr<train::HostFeed> feed_;
};

// Largest difference over the largest value of `want`; infinite where something is not a number.
double relative_error(const std::vector<float>& got, const std::vector<float>& want);

}  // namespace trainyard
