#pragma once

#include <cstdint>
#include <memory>

#include "data/batch_stream.h"
#include "train/session.h"

namespace trainyard::train {

// The share of the test images that the session's network names right; built once, run many times. Uses the
// moving average of the weights where the session keeps one.
class Evaluator {
 public:
  // Both must outlive it. Error (config) when the test split is empty.
  Evaluator(const Session& session, const data::Dataset& dataset, const data::Preprocess& preprocess);

  // Over the whole test split. Stops early, with a meaningless result, when StopRequest::asked().
  double accuracy();

 private:
  std::int64_t count_right(const data::Batch& batch);

  const data::Dataset& dataset_;
  data::BatchStreamOptions stream_;
  std::unique_ptr<engine::Executor> executor_;
  HostTensor logits_;
};

}  // namespace trainyard::train
