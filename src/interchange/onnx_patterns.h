#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "interchange/onnx_known.h"

namespace trainyard::interchange {

// Nodes of this domain are ops of ours that ONNX has not: "Linear" (x W^T), "Silu", "Gated" (of two halves),
// "Positions", "Rotary", "Attention", and recurrent layers with a framework's weights. Only patterns make
// them: no file can have a domain of this name.
inline constexpr const char* kOwnDomain = "\x01";

// PatternGraph is a model whose nodes can be replaced by fewer that do the same.
class PatternGraph {
 public:
  PatternGraph(onnx::Model& model, const KnownValues& known);

  const KnownValues& known() const { return known_; }
  std::size_t size() const { return model_.nodes.size(); }
  const onnx::Node& node(std::size_t i) const { return model_.nodes[i]; }
  // Returns the node that makes the value now, if it has this type.
  const onnx::Node* maker(const std::string& value, std::string_view type = "") const;
  // Returns the only node that reads the value, unless it leaves the graph.
  const onnx::Node* sole_reader(const std::string& value) const;
  // Returns the place of the node that makes the value. REQUIRES: a node does.
  std::size_t place_of(const std::string& value) const { return makers_.at(value); }
  // Puts another node at the place of one; it makes the same first value.
  void replace(std::size_t place, onnx::Node node);
  // Returns the first value of the node that was put somewhere last.
  const std::string& last_replaced() const { return last_replaced_; }

  // Returns the other input of a node of two inputs, where one is `value`.
  static std::optional<std::string> other(const onnx::Node& node, const std::string& value);
  // Returns the number and the other input of a node with two inputs, one of which is a single number.
  struct WithNumber {
    double number;
    std::string value;
    std::size_t place;  // of the number among the inputs
  };
  std::optional<WithNumber> with_number(const onnx::Node* node) const;

  // Drops nodes that only replaced nodes had read, and returns how many.
  std::size_t drop_unread();

 private:
  std::vector<bool> read_nodes(bool by_constants) const;

  onnx::Model& model_;
  const KnownValues& known_;
  std::unordered_map<std::string, std::size_t> makers_;
  std::unordered_map<std::string, std::vector<std::size_t>> readers_;
  std::unordered_set<std::string> outputs_;
  std::vector<bool> read_before_;
  std::string last_replaced_;
};

// Returns a node of our own domain, or of ONNX's, that makes what `last` makes first.
onnx::Node fused_node(const onnx::Node& last, const char* type, const char* domain,
                      std::vector<std::string> inputs, std::vector<onnx::Attribute> attributes = {});

// A pattern looks whether the node at this place ends what it knows, and replaces it then.
using Pattern = bool (*)(PatternGraph& graph, std::size_t place);

struct PatternRow {
  const char* name;  // what is recognised, for people; null: what was counted already
  Pattern match;
};

// Lists the patterns of a file, in the order in which they are tried. Attention goes before positions, so
// that no mask is taken for a table.
std::vector<PatternRow> unit_patterns();
std::vector<PatternRow> recurrent_patterns();
std::vector<PatternRow> rotary_patterns();
std::vector<PatternRow> attention_patterns();
std::vector<PatternRow> position_patterns();

struct Recognised {
  std::map<std::string, std::int64_t> counts;              // by name
  std::unordered_map<std::string, std::string> by_output;  // of the nodes that stand for it now
};

// Replaces all that is recognised.
Recognised fuse_patterns(onnx::Model& model, const KnownValues& known);

// A Place is where an element was before it was moved.
struct Place {
  std::string source;  // a value that an op computes, or that is given
  std::int64_t index = 0;
  const onnx::Node* rotary = nullptr;  // that it passed, which turns it
  std::int64_t rotary_step = 0;

  bool operator==(const Place&) const = default;
};

// A Tracer follows elements back through all ops that only move numbers. The graph must outlive it unchanged.
class Tracer {
 public:
  explicit Tracer(const PatternGraph& graph) : graph_(graph) {}

  // `end` is a value at which the way ends in any case.
  Place trace(std::string value, std::int64_t index, const std::string& end = "");

 private:
  struct Step {
    std::optional<std::function<Origin(std::int64_t)>> move = std::nullopt;
    std::vector<std::string> inputs = {};
    const onnx::Node* rotary = nullptr;
    std::int64_t rotary_stride = 1, rotary_steps = 1;
  };

  const Step& step_of(const std::string& value);

  const PatternGraph& graph_;
  std::unordered_map<std::string, Step> steps_;
};

// The ways of a chain of ops are no longer than this.
inline constexpr int kLongestWay = 64;

// Returns the product of dimensions from `begin` to before `end`.
std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t begin, std::size_t end);

// Returns the first, the second and the last of so many. What is affine agrees everywhere when it agrees
// there.
std::array<std::int64_t, 3> tested_places(std::int64_t count);

}  // namespace trainyard::interchange
