#include "api/session_options.h"

#include "record/value.h"
#include "run/run_options.h"
#include "run/start_weights.h"

namespace trainyard::api {
void want_number(const char* setting, double given, const char* range_name) {
  const record::NumberRange& range = record::range_of(range_name == nullptr ? setting : range_name);
  const bool whole = range.is_whole();
  const record::Value value = whole ? record::Value(static_cast<std::int64_t>(given)) : record::Value(given);
  if (!range.contains(value))
    fail(ErrorKind::usage, "{}: {}", Setting{setting}, range.complaint(fmt::format("{:g}", given)));
}

train::SessionOptions session_options(const Network& network, const RunSettings& settings, bool training) {
  want_number("batch", static_cast<double>(settings.batch));
  if (settings.threads != 0) want_number("threads", settings.threads);
  if (settings.learning_rate != 0) want_number("learning_rate", settings.learning_rate, "lr");
  want_number("momentum", settings.momentum);
  if (settings.weight_decay != 0) want_number("weight_decay", settings.weight_decay);
  run::RunOptions options;  // its network stays what it is: the model below is that of the caller's
  options.backend = settings.backend;
  options.device = DeviceSpec::parse(settings.device);
  options.precision = settings.precision;
  options.threads = settings.threads;
  options.seed = settings.seed;
  options.optimizer = settings.optimizer;
  options.learning_rate = settings.learning_rate;
  options.momentum = settings.momentum;
  options.weight_decay = settings.weight_decay;
  options.freeze = settings.freeze;
  train::SessionOptions session = run::to_session(options);
  const double weight_decay = session.model.weight_decay;
  const std::vector<std::string> freeze = session.model.freeze;
  session.model = network.parts().model;
  session.model.batch = settings.batch;
  session.model.training = session.model.loss = training;
  session.model.weight_decay = weight_decay;
  session.model.freeze = freeze;
  return session;
}

void give_weights(const Network& network, const RunSettings& settings, train::SessionOptions& session) {
  run::RunOptions options;
  options.weights = settings.weights;
  options.new_head = settings.new_head;
  options.partial_weights = settings.partial_weights;
  run::give_weights(options, network.parts().file.get(), session);
}

}  // namespace trainyard::api
