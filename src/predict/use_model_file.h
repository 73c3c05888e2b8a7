#pragma once

#include <string>
#include <vector>

#include "predict/json_members.h"
#include "predict/model_container.h"
#include "predict/use_model.h"

namespace trainyard::predict {

// What any kind of model stores of the use of resources: a JSON object, as text, and two tensors.
// docs/formats/prediction-model.md.
std::string use_to_json(const UseModel& use);
std::vector<ModelTensor> use_tensors(const UseModel& use);

// Error (config) names what is missing or out of bounds.
UseModel parse_use(const JsonMembers& members, const ModelContainer& container, const std::string& who);

}  // namespace trainyard::predict
