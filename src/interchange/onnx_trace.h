#pragma once

#include "interchange/onnx_patterns.h"

namespace trainyard::interchange {

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
std::array<std::int64_t, 3> samples_of(std::int64_t count);

}  // namespace trainyard::interchange
