#include "api/session_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest_name.h"
#include "record/number_range.h"

namespace trainyard::api {
namespace {

ops::UpdateAttrs update_of(const RunSettings& settings) {
  const std::string& optimizer = settings.optimizer;
  want_one_of("optimizer", optimizer, {"sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw"});
  const bool adam = optimizer.starts_with("adam");
  ops::UpdateAttrs update;
  update.schedule.rate = settings.learning_rate > 0 ? settings.learning_rate : adam ? 1e-3 : 1e-2;
  update.momentum = settings.momentum;
  update.nesterov = optimizer == "nesterov";
  if (optimizer == "momentum" || update.nesterov) update.rule = ops::Rule::momentum;
  if (adam) update.rule = ops::Rule::adam;
  if (optimizer == "rmsprop") {
    update.rule = ops::Rule::rmsprop;
    update.epsilon = 1.0;  // as the origin of this form sets it
  }
  if (optimizer == "adamw") {
    update.decoupled_decay = true;
    update.weight_decay = settings.weight_decay;
  }
  return update;
}

}  // namespace

void want_one_of(const char* setting, const std::string& given, const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), given) != allowed.end()) return;
  fail(ErrorKind::usage, "{} '{}'{}: one of {}", Setting{setting}, given, did_you_mean(given, allowed),
       fmt::join(allowed, ", "));
}

void want_number(const char* setting, double given, const char* range_name) {
  const record::NumberRange& range = record::range_of(range_name == nullptr ? setting : range_name);
  const bool whole = range.is_whole();
  const record::Value value = whole ? record::Value(static_cast<std::int64_t>(given)) : record::Value(given);
  if (!range.contains(value))
    fail(ErrorKind::usage, "{}: {}", Setting{setting}, range.complaint(fmt::format("{:g}", given)));
}

train::SessionOptions session_options(const Network& network, const RunSettings& settings, bool training) {
  want_one_of("precision", settings.precision, {"f32", "tf32", "bf16"});
  want_number("batch", static_cast<double>(settings.batch));
  if (settings.threads != 0) want_number("threads", settings.threads);
  if (settings.learning_rate != 0) want_number("learning_rate", settings.learning_rate, "lr");
  want_number("momentum", settings.momentum);
  if (settings.weight_decay != 0) want_number("weight_decay", settings.weight_decay);
  train::SessionOptions session;
  session.model = network.parts().model;
  session.model.batch = settings.batch;
  session.model.training = training;
  session.model.weight_decay = settings.optimizer == "adamw" ? 0 : settings.weight_decay;
  session.update = update_of(settings);
  session.backend = settings.backend;
  session.device = settings.device;
  session.precision = settings.precision == "tf32"   ? backend::Precision::tf32
                      : settings.precision == "bf16" ? backend::Precision::bf16
                                                     : backend::Precision::f32;
  session.threads = settings.threads;
  session.seed = settings.seed;
  return session;
}

}  // namespace trainyard::api
