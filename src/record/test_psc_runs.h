#pragma once

#include "base/standard.h"

namespace trainyard::record {

// PscRow is one row of the published PSC runs with batch 50 (specs/benchmarking.md, 4.1): images per second
// with the data on the node's disk, and on the shared file system.
struct PscRow {
  const char *date, *gpu;
  int gpus;
  double local;
  const char* local_node;
  double scratch;            // 0: no such run
  const char* scratch_node;  // null: no such run
};

inline constexpr std::array kPscRows = std::to_array<PscRow>({
    {"05-31", "k80", 1, 4997.7, "gpu011", 0, nullptr},
    {"05-31", "k80", 2, 4781.7, "gpu011", 0, nullptr},
    {"05-31", "p100", 1, 12414.5, "gpu040", 0, nullptr},
    {"05-31", "p100", 2, 8545.9, "gpu033", 0, nullptr},
    {"06-01", "k80", 1, 5999.9, "gpu002", 5909.4, "gpu002"},
    {"06-01", "k80", 2, 5818.4, "gpu002", 5160.8, "gpu007"},
    {"06-01", "k80", 4, 4908.1, "gpu016", 4834.6, "gpu016"},
    {"06-01", "p100", 1, 9704.3, "gpu030", 9699.0, "gpu029"},
    {"06-01", "p100", 2, 8754.8, "gpu035", 8767.6, "gpu035"},
    {"06-01 a", "k80", 1, 4998.5, "gpu014", 0, nullptr},
    {"06-01 a", "k80", 2, 5059.4, "gpu011", 0, nullptr},
    {"06-01 a", "p100", 1, 9587.1, "gpu033", 0, nullptr},
    {"06-01 a", "p100", 2, 11887.4, "gpu034", 0, nullptr},
    {"06-04", "k80", 1, 2643.5, "gpu006", 2674.0, "gpu006"},
    {"06-04", "k80", 2, 5226.8, "gpu007", 5250.9, "gpu007"},
    {"06-04", "k80", 4, 4836.6, "gpu009", 5195.1, "gpu008"},
    {"06-04", "p100", 1, 9600.8, "gpu038", 9434.9, "gpu046"},
    {"06-04", "p100", 2, 12247.1, "gpu032", 8733.0, "gpu033"},
    {"06-05", "k80", 1, 2140.5, "gpu006", 2106.2, "gpu006"},
    {"06-05", "k80", 2, 5238.7, "gpu013", 5230.1, "gpu013"},
    {"06-05", "k80", 4, 5855.3, "gpu002", 4850.7, "gpu001"},
    {"06-05", "p100", 1, 8713.0, "gpu017", 8838.8, "gpu017"},
    {"06-05", "p100", 2, 8543.6, "gpu019", 8726.3, "gpu018"},
    {"06-09", "k80", 1, 5276.6, "gpu015", 5298.8, "gpu015"},
    {"06-09", "k80", 2, 2239.1, "gpu005", 2226.4, "gpu005"},
    {"06-09", "k80", 4, 2898.5, "gpu005", 2805.5, "gpu005"},
    {"06-09", "p100", 1, 8678.5, "gpu021", 8820.3, "gpu021"},
    {"06-09", "p100", 2, 8779.9, "gpu021", 8703.8, "gpu046"},
    {"06-14", "k80", 1, 6006.5, "gpu001", 5980.1, "gpu001"},
    {"06-14", "k80", 2, 5935.0, "gpu004", 5815.6, "gpu001"},
    {"06-14", "k80", 4, 5165.4, "gpu006", 5155.9, "gpu005"},
    {"06-14", "p100", 1, 9500.1, "gpu018", 9527.9, "gpu018"},
    {"06-14", "p100", 2, 12059.2, "gpu039", 8714.4, "gpu021"},
});

}  // namespace trainyard::record
