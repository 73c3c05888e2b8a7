#include "predict/read_predictor.h"

#include "predict/gnn/run_model.h"
#include "predict/kernels/kernel_model.h"

namespace trainyard::predict {
namespace {

struct ModelKind {
  const char* schema;
  std::unique_ptr<Predictor> (*make)(const ModelContainer& container, const std::string& who);
};

constexpr ModelKind kModelKinds[] = {
    {kTimeModelSchema,
     [](const ModelContainer& container, const std::string& who) {
       return make_predictor(parse_time_model(container, who));
     }},
    {kGraphRunSchema,
     [](const ModelContainer& container, const std::string& who) {
       return make_predictor(parse_graph_run_model(container, who));
     }},
    {kKernelModelSchema,
     [](const ModelContainer& container, const std::string& who) {
       return make_predictor(parse_kernel_model(container, who));
     }},
};

}  // namespace

std::unique_ptr<Predictor> parse_predictor(const ModelContainer& container, const std::string& who) {
  std::string known;
  for (const ModelKind& kind : kModelKinds) {
    if (container.schema == kind.schema) return kind.make(container, who);
    known += (known.empty() ? "" : ", ") + std::string(kind.schema);
  }
  fail(ErrorKind::config, "'{}': a model of kind '{}', wants one of {}", who, container.schema, known);
}

std::unique_ptr<Predictor> read_predictor(const std::filesystem::path& path) {
  return parse_predictor(read_model_container(path), path.string());
}

}  // namespace trainyard::predict
