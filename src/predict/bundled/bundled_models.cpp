#include "predict/bundled/bundled_models.h"

// The assembler puts a file into the program as it is.
#define TRAINYARD_CARRY(symbol, file)                       \
  asm(".section .rodata\n"                                  \
      ".balign 16\n"                                        \
      ".global " #symbol                                    \
      "_begin\n"                                            \
      ".global " #symbol "_end\n" #symbol                   \
      "_begin:\n"                                           \
      ".incbin \"" TRAINYARD_MODELS "/" file "\"\n" #symbol \
      "_end:\n"                                             \
      ".byte 0\n"                                           \
      ".previous\n");                                       \
  extern "C" const std::byte symbol##_begin[], symbol##_end[]

TRAINYARD_CARRY(trainyard_model_h200, "h200.model");
TRAINYARD_CARRY(trainyard_model_cpu, "cpu.model");
TRAINYARD_CARRY(trainyard_model_published, "published.model");

namespace trainyard::predict {

std::span<const BundledModel> bundled_models() {
  static const BundledModel models[] = {
      {"h200", true, {trainyard_model_h200_begin, trainyard_model_h200_end}},
      {"cpu", true, {trainyard_model_cpu_begin, trainyard_model_cpu_end}},
      {"published", false, {trainyard_model_published_begin, trainyard_model_published_end}}};
  return models;
}

}  // namespace trainyard::predict
