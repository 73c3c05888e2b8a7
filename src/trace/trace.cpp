#include "trace/trace.h"

#include <cctype>

namespace trainyard::trace {

namespace {

template <typename T>
const T* argument(const Arguments& arguments, const std::string& name) {
  const auto found =
      std::find_if(arguments.begin(), arguments.end(), [&](const auto& each) { return each.first == name; });
  return found == arguments.end() ? nullptr : std::get_if<T>(&found->second);
}

}  // namespace

const std::string* Span::text(const std::string& key) const { return argument<std::string>(arguments, key); }

const std::int64_t* Span::number(const std::string& key) const {
  return argument<std::int64_t>(arguments, key);
}

int Trace::track(const Track& wanted) {
  const auto found = std::find(tracks.begin(), tracks.end(), wanted);
  if (found != tracks.end()) return static_cast<int>(found - tracks.begin());
  tracks.push_back(wanted);
  return static_cast<int>(tracks.size()) - 1;
}

namespace {

constexpr std::array kComputing = {"gemm", "conv", "rnn",  "attention", "elementwise",
                                   "norm", "pool", "loss", "optimizer", "copy"};

struct Named {
  const char* part;  // of a category or a name, in small letters
  SpanRole role;
};

constexpr Named kCategories[] = {
    {"step", SpanRole::step},
    {"plain_step", SpanRole::plain_step},
    {"communication", SpanRole::communication},
    {"wait", SpanRole::input_wait},
    {"kernel", SpanRole::kernel},
    {"gpu_memcpy", SpanRole::copy},
    {"gpu_memset", SpanRole::copy},
    {"memcpy", SpanRole::copy},
    {"cpu_op", SpanRole::host_op},
    {"operator", SpanRole::host_op},
};

struct Guess {
  const char *part, *category;
};

// The first guess that fits is used, so more specific words come first.
constexpr Guess kGuesses[] = {
    {"lstm", "rnn"},
    {"gru_", "rnn"},
    {"rnn", "rnn"},
    {"flash", "attention"},
    {"fmha", "attention"},
    {"sdpa", "attention"},
    {"attention", "attention"},
    {"adam", "optimizer"},
    {"sgd", "optimizer"},
    {"multi_tensor", "optimizer"},
    {"foreach", "optimizer"},
    {"optimizer", "optimizer"},
    {"rmsprop", "optimizer"},
    {"batch_norm", "norm"},
    {"batchnorm", "norm"},
    {"bn_fw", "norm"},
    {"bn_bw", "norm"},
    {"layer_norm", "norm"},
    {"layernorm", "norm"},
    {"group_norm", "norm"},
    {"cross_entropy", "loss"},
    {"nll_loss", "loss"},
    {"log_softmax", "loss"},
    {"loss", "loss"},
    {"pool", "pool"},
    {"conv", "conv"},
    {"implicit", "conv"},
    {"winograd", "conv"},
    {"dgrad", "conv"},
    {"wgrad", "conv"},
    {"fprop", "conv"},
    {"gemm", "gemm"},
    {"matmul", "gemm"},
    {"aten::mm", "gemm"},
    {"aten::bmm", "gemm"},
    {"addmm", "gemm"},
    {"linear", "gemm"},
    {"cutlass", "gemm"},
    {"gemv", "gemm"},
    {"cublas", "gemm"},
    {"copy", "copy"},
    {"aten::cat", "copy"},
    {"catarray", "copy"},
    {"transpose", "copy"},
    {"nhwc", "copy"},
    {"nchw", "copy"},
    {"index_select", "copy"},
    {"gather", "copy"},
    {"embedding", "copy"},
};

std::string small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

bool is_computing(const std::string& category) {
  return std::find(kComputing.begin(), kComputing.end(), category) != kComputing.end();
}

}  // namespace

SpanRole role_of(const Span& span) {
  // Ours: a kernel has an op; what only fills the inputs has none.
  if (is_computing(span.category) && span.text("op") != nullptr) return SpanRole::kernel;
  if (span.category == "copy") return SpanRole::copy;
  const std::string category = small_letters(span.category), name = small_letters(span.name);
  // PyTorch shows a step once for the host and once for the GPU.
  if (name.starts_with("profilerstep"))
    return category == "gpu_user_annotation" ? SpanRole::other : SpanRole::step;
  if (has(name, "dataloader")) return SpanRole::input_wait;
  for (const Named& row : kCategories)
    if (category == row.part)
      return row.role == SpanRole::kernel && has(name, "nccl") ? SpanRole::communication : row.role;
  return SpanRole::other;
}

std::string compute_category(const Span& span) {
  if (is_computing(span.category)) return span.category;
  const std::string name = small_letters(span.name);
  for (const Guess& guess : kGuesses)
    if (has(name, guess.part)) return guess.category;
  return "elementwise";
}

}  // namespace trainyard::trace
