#include "data/batch_maker.h"

#include "base/clock.h"
#include "base/error.h"

namespace trainyard::data {
namespace {

BatchStreamOptions checked(BatchStreamOptions o) {
  if (o.batch < 1) fail(ErrorKind::config, "batch size {} given, at least 1 expected", o.batch);
  if (o.depth < 0 || o.threads < 1)
    fail(ErrorKind::config, "prefetch depth {} and {} threads given, at least 0 and 1 expected", o.depth,
         o.threads);
  if (o.workers < 1 || o.worker < 0 || o.worker >= o.workers)
    fail(ErrorKind::config, "worker {} of {} given, 0 to {} expected", o.worker, o.workers, o.workers - 1);
  TRAINYARD_CHECK(o.first_step >= 0);
  return o;
}

}  // namespace

BatchMaker::BatchMaker(const BatchStreamOptions& options) : options_(checked(options)) {}

std::int64_t BatchMaker::make(std::int64_t step, std::byte* inputs, std::int32_t* labels,
                              Scratch& scratch) const {
  if (options_.made == nullptr) return fill(step, inputs, labels, scratch);
  const double began = now_seconds();
  const std::int64_t valid = fill(step, inputs, labels, scratch);
  options_.made(step, began, now_seconds());
  return valid;
}

}  // namespace trainyard::data
