#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "data/batch_stream.h"
#include "train/session.h"

namespace trainyard::train {

// What the session's network says of the test images; built once, run many times. Uses the moving average of
// the weights where the session keeps one.
class Evaluator {
 public:
  // The session must outlive it. Error when there are no test images.
  Evaluator(const Session& session, data::MakeBatches batches, const data::Preprocess& preprocess);

  // The share that it names right, over the whole test split. Stops early, with a meaningless result, when
  // StopRequest::asked().
  double accuracy();

  // Is told of each test image in turn; a label below 0: the image is damaged, and counts for nothing.
  using Hear = std::function<void(std::span<const float> logits, std::int32_t label)>;
  void evaluate(const Hear& hear);

 private:
  const data::MakeBatches batches_;
  data::BatchStreamOptions stream_;
  std::unique_ptr<engine::Executor> executor_;
  HostTensor logits_;
};

}  // namespace trainyard::train
