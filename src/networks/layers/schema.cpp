#include "base/json.h"
#include "networks/layers/described_network.h"
#include "networks/layers/description.h"

namespace trainyard::networks::layers {
namespace {

using Kind = OptionRow::Kind;

Json ref(const char* name) { return {{"$ref", fmt::format("#/definitions/{}", name)}}; }

Json any_of(const std::vector<Json>& forms) { return {{"anyOf", forms}}; }

// A number of this range, or an expression.
Json number(bool whole, double least, double most) {
  Json plain{{"type", whole ? "integer" : "number"}, {"minimum", least}, {"maximum", most}};
  if (whole) plain["minimum"] = static_cast<std::int64_t>(least);
  if (whole) plain["maximum"] = static_cast<std::int64_t>(most);
  return any_of({plain, ref("expression")});
}

Json form_of(const OptionRow& row) {
  switch (row.kind) {
    case Kind::whole:
      return number(true, row.least, row.most);
    case Kind::real:
      return number(false, row.least, row.most);
    case Kind::word:
      return any_of({{{"enum", row.choices}}, ref("expression")});
    case Kind::flag:
      return ref("flag");
    case Kind::kernel: {
      const Json side = number(true, row.least, row.most);
      Json sides{{"type", "array"}, {"minItems", 2}, {"maxItems", 2}};
      sides["items"] = side;
      return any_of({side, sides});
    }
    case Kind::padding:
      return any_of({{{"enum", {"same", "valid", "centred"}}}, number(true, row.least, row.most)});
    case Kind::layer:
      return {{"type", "string"}};
    case Kind::layers:
      return ref("layers");
    case Kind::branches:
      return ref("branches");
  }
  return {};
}

std::string about(const OptionRow& row) {
  if (row.fallback == OptionRow::kRequired || *row.fallback == '\0') return row.about;
  return fmt::format("{} (default: {})", row.about, row.fallback);
}

// A mapping of all options, or the first one's value alone, or nothing.
Json layer_form(const LayerRow& row) {
  Json properties = Json::object(), required = Json::array();
  const bool is_logits = std::string_view(row.name) == "logits";
  if (!is_logits)
    properties["name"] = {{"type", "string"}, {"description", "its parameters begin with this name"}};
  properties["from"] = {{"type", "string"},
                        {"description", "the layer that it reads, in place of the one before"}};
  for (const OptionRow& option : row.options) {
    Json form = form_of(option);
    form["description"] = about(option);
    properties[option.name] = std::move(form);
    if (option.fallback == OptionRow::kRequired) required.push_back(option.name);
  }
  const bool first_is_enough =
      required.empty() || (required.size() == 1 && required[0] == row.options[0].name);
  Json mapping{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) mapping["required"] = required;
  std::vector<Json> forms{mapping};
  if (!row.options.empty() && first_is_enough) forms.push_back(form_of(row.options[0]));
  if (required.empty()) forms.push_back({{"type", "null"}});
  Json form = any_of(forms);
  form["description"] = row.about;
  return form;
}

Json layer_schema() {
  Json words = Json::array(), types = Json::object();
  for (const LayerRow& row : layer_rows()) {
    types[row.name] = layer_form(row);
    if (std::none_of(row.options.begin(), row.options.end(),
                     [](const OptionRow& option) { return option.fallback == OptionRow::kRequired; }))
      words.push_back(row.name);
  }
  const Json mapping{{"type", "object"},
                     {"minProperties", 1},
                     {"maxProperties", 1},
                     {"additionalProperties", false},
                     {"properties", types}};
  return any_of({{{"enum", words}}, mapping});
}

Json input_schema() {
  std::vector<Json> forms;
  for (const InputKind kind : {InputKind::image, InputKind::features, InputKind::sequence}) {
    Json properties = Json::object(), required = Json::array();
    for (const InputRow& row : input_rows(kind)) {
      properties[row.name] = kind == InputKind::sequence
                                 ? Json{{"type", "integer"},
                                        {"minimum", static_cast<std::int64_t>(row.least)},
                                        {"maximum", static_cast<std::int64_t>(row.most)}}
                                 : number(true, row.least, row.most);
      properties[row.name]["description"] = row.about;
      required.push_back(row.name);
    }
    if (kind == InputKind::sequence) {
      properties["masked"] = ref("flag");
      properties["masked"]["description"] = "whether it is asked for masked tokens, and not for the next one";
    }
    forms.push_back({{"type", "object"},
                     {"properties", properties},
                     {"required", required},
                     {"additionalProperties", false}});
  }
  return any_of(forms);
}

Json parameters_schema() {
  const Json scalar{{"type", {"number", "string"}}};
  const Json whole{{"type", "integer"}, {"minimum", 0}};
  Json detailed{{"type", "object"}, {"required", {"default"}}, {"additionalProperties", false}};
  detailed["properties"] = {{"default", scalar},
                            {"from", whole},
                            {"to", whole},
                            {"about", {{"type", "string"}}},
                            {"choices", {{"type", "array"}, {"items", scalar}}}};
  return {{"type", "object"}, {"additionalProperties", any_of({{{"type", "number"}}, detailed})}};
}

}  // namespace

Json schema() {
  const Json text{{"type", "string"}};
  Json properties{{"name", text},
                  {"about", text},
                  {"preprocess", text},
                  {"input", input_schema()},
                  {"classes", {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostClasses}}},
                  {"parameters", parameters_schema()},
                  {"layers", ref("layers")}};
  const Json branch = any_of({ref("layers"), text});
  Json definitions{{"expression", {{"type", "string"}, {"pattern", "[$]"}}},
                   {"flag", {{"enum", {true, false, "yes", "no"}}}},
                   {"layers", {{"type", "array"}, {"items", ref("layer")}}},
                   {"branches", {{"type", "array"}, {"minItems", 2}, {"items", branch}}},
                   {"layer", layer_schema()}};
  return {{"$schema", "http://json-schema.org/draft-07/schema#"},
          {"title", "A network as a list of layers (Trainyard)"},
          {"type", "object"},
          {"required", {"input", "layers"}},
          {"additionalProperties", false},
          {"properties", properties},
          {"definitions", definitions}};
}

}  // namespace trainyard::networks::layers
