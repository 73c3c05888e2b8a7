#include "interchange/dot.h"

#include <charconv>

#include "interchange/text_format.h"

namespace trainyard::interchange {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::int64_t integer_of(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Undoes TensorSpec::to_string.
TensorSpec spec_of_text(std::string_view text) {
  TensorSpec spec;
  const std::size_t space = text.find(' ');
  const std::string_view dtype = text.substr(0, space);
  if (bytes_of_type(dtype) > 0) spec.dtype = dtype;
  std::string_view dims = space == std::string_view::npos ? "" : text.substr(space + 1);
  spec.has_shape = !dims.empty() && dims != "of unknown shape";
  if (!spec.has_shape || dims == "scalar") return spec;
  while (!dims.empty() && spec.dims.size() < kMaxRank) {
    const std::size_t cross = dims.find('x');
    const std::int64_t size = dims[0] == '?' ? kUnknown : integer_of(dims.substr(0, cross));
    spec.dims.push_back(size < 0 || size > kMaxElements ? kUnknown : size);
    dims = cross == std::string_view::npos ? "" : dims.substr(cross + 1);
  }
  return spec;
}

class DotReader {
 public:
  DotReader(std::string_view text, const std::string& who) : text_(text), who_(who) {}

  ExchangeGraph read() && {
    std::string word = token();
    if (word == "strict") word = token();
    if (word != "digraph") refuse("no digraph in it");
    word = token();
    if (word != "{") {
      graph_.name = word;
      word = token();
    }
    if (word != "{") refuse("'{' is missing after digraph");
    int depth = 1;
    for (word = token(); depth > 0; word = depth > 0 ? token() : "") {
      if (word.empty() && !was_quoted_) refuse("it ends inside the graph");
      if (was_quoted_) {
        statement(word);
      } else if (word == "{") {
        if (++depth > kMaxDepth) refuse(fmt::format("more than {} graphs within each other", kMaxDepth));
      } else if (word == "}") {
        --depth;
      } else if (word == "node" || word == "edge" || word == "graph") {
        attributes();
      } else if (word == "subgraph") {
        if (peek() != "{") token();  // its name
      } else if (word != ";" && word != ",") {
        statement(word);
      }
    }
    return std::move(graph_);
  }

 private:
  using Attributes = std::unordered_map<std::string, std::string>;

  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::config, "{}: {} (byte {})", who_, what, at_);
  }

  void skip_space() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest[0] == '#' || rest.starts_with("//"))
        at_ += std::min(rest.find('\n'), rest.size());
      else if (rest.starts_with("/*"))
        at_ += std::min(rest.find("*/"), rest.size() - 2) + 2;
      else if (static_cast<unsigned char>(rest[0]) <= ' ')
        ++at_;
      else
        return;
    }
  }

  // "" at the end. "->" and marks are tokens of their own.
  std::string token() {
    skip_space();
    was_quoted_ = false;
    if (at_ >= text_.size()) return "";
    if (text_[at_] == '"') return quoted_token();
    if (text_.substr(at_).starts_with("->")) {
      at_ += 2;
      return "->";
    }
    constexpr std::string_view kMarks = "{}[];,=:";
    if (kMarks.find(text_[at_]) != std::string_view::npos) return std::string(1, text_[at_++]);
    const std::size_t begin = at_;
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) > ' ' && text_[at_] != '"' &&
           kMarks.find(text_[at_]) == std::string_view::npos && !text_.substr(at_).starts_with("->"))
      ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted_token() {
    was_quoted_ = true;
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        if (text_[at_] == 'n' || text_[at_] == 'l' || text_[at_] == 'r') {
          out += ' ';  // a new line in a label
          continue;
        }
      }
      out += static_cast<unsigned char>(text_[at_]) < 0x20 ? ' ' : text_[at_];
    }
    if (at_ >= text_.size()) refuse("a text does not end");
    ++at_;
    return out;
  }

  std::string peek() {
    const std::size_t before = at_;
    const std::string word = token();
    const bool quoted = was_quoted_;
    at_ = before;
    was_quoted_ = false;
    return quoted ? std::string(1, '"') : word;
  }

  Attributes attributes() {
    Attributes all;
    while (peek() == "[") {
      token();
      for (std::string word = token(); was_quoted_ || word != "]"; word = token()) {
        if (word.empty() && !was_quoted_) refuse("attributes do not end");
        if (!was_quoted_ && (word == "," || word == ";")) continue;
        if (peek() != "=") continue;
        token();
        all[word] = token();
      }
    }
    return all;
  }

  int node(const std::string& name) {
    const auto [found, is_new] = index_.try_emplace(name, static_cast<int>(graph_.nodes.size()));
    if (is_new) {
      if (static_cast<std::int64_t>(graph_.nodes.size()) == kMaxNodes)
        refuse(fmt::format("more than {} nodes", kMaxNodes));
      graph_.nodes.push_back({.name = name, .type = "op"});
    }
    return found->second;
  }

  // A port of a node, "a:p:n", is the node.
  void pass_ports() {
    while (peek() == ":") {
      token();
      token();
    }
  }

  void statement(const std::string& first) {
    if (peek() == "=") {  // an attribute of the graph
      token();
      token();
      return;
    }
    std::vector<int> chain{node(first)};
    pass_ports();
    while (peek() == "->") {
      token();
      const std::string next = token();
      if (next.empty() || (!was_quoted_ && (next == "{" || next == "[" || next == ";" || next == "}")))
        refuse("an edge leads nowhere");
      chain.push_back(node(next));
      pass_ports();
    }
    const Attributes all = attributes();
    if (chain.size() == 1) return describe(graph_.nodes[static_cast<std::size_t>(chain[0])], all);
    const auto found = all.find("style");
    const bool control = found != all.end() && found->second == "dashed";
    const auto output = all.find("output");
    for (std::size_t i = 1; i < chain.size(); ++i) {
      if (++edges_ > kMaxItems) refuse(fmt::format("more than {} edges", kMaxItems));
      const std::int64_t index = output == all.end() ? 0 : integer_of(output->second);
      graph_.nodes[static_cast<std::size_t>(chain[i])].inputs.push_back(
          {chain[i - 1], static_cast<int>(std::clamp<std::int64_t>(index, 0, 9999)), control});
    }
  }

  static void describe(OpNode& op, const Attributes& all) {
    const auto text = [&](const char* name) {
      const auto found = all.find(name);
      return found == all.end() ? std::string() : found->second;
    };
    const auto count = [&](const char* name) {
      return std::clamp<std::int64_t>(integer_of(text(name)), 0, kMaxFlops / kMaxNodes);
    };
    const std::string label = text("label").substr(0, text("label").find(' '));
    op.type = !text("op").empty() ? text("op") : !label.empty() ? label : op.type;
    op.device = text("device");
    op.flops = count("flops");
    op.elementwise_flops = count("elementwise_flops");
    op.bytes_moved = count("bytes");
    op.parameters = count("parameters");
    op.outputs.clear();
    for (std::size_t i = 0; i < 1000; ++i) {
      const std::string output = text(fmt::format("output{}", i).c_str());
      if (output.empty()) break;
      op.outputs.push_back(spec_of_text(output));
    }
  }

  std::string_view text_;
  const std::string& who_;
  std::size_t at_ = 0;
  bool was_quoted_ = false;
  ExchangeGraph graph_;
  std::unordered_map<std::string, int> index_;
  std::int64_t edges_ = 0;
};

}  // namespace

std::string to_dot(const ExchangeGraph& graph) {
  std::string out = fmt::format("digraph {} {{\n  node [shape=box];\n", in_quotes(graph.name));
  for (const OpNode& op : graph.nodes) {
    const std::string shape = op.outputs.empty() ? "" : op.outputs[0].to_string();
    out += fmt::format("  {} [label={}, op={}", in_quotes(op.name), "\"" + op.type + "\\n" + shape + "\"",
                       in_quotes(op.type));
    if (!op.device.empty()) out += ", device=" + in_quotes(op.device);
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      out += fmt::format(", output{}={}", i, in_quotes(op.outputs[i].to_string()));
    for (const auto& [name, value] : {std::pair{"flops", op.flops},
                                      {"elementwise_flops", op.elementwise_flops},
                                      {"bytes", op.bytes_moved},
                                      {"parameters", op.parameters}})
      if (value != 0) out += fmt::format(", {}={}", name, value);
    out += "];\n";
  }
  for (const OpNode& op : graph.nodes)
    for (const OpInput& input : op.inputs) {
      out += fmt::format("  {} -> {}", in_quotes(graph.nodes[static_cast<std::size_t>(input.node)].name),
                         in_quotes(op.name));
      if (input.control) out += " [style=dashed]";
      if (input.output != 0) out += fmt::format(" [output={}]", input.output);
      out += ";\n";
    }
  return out + "}\n";
}

ExchangeGraph read_dot(std::string_view text, const std::string& who) { return DotReader(text, who).read(); }

}  // namespace trainyard::interchange
