#pragma once

#include "backend/cuda/runtime/tensor_cores.cuh"

// Products by a warpgroup: four warps, the first of which has a number that is a multiple of four. Operands
// lie in shared memory as tiles of 64 rows, or, the first one, in registers. Products start and are waited
// for later, so a warpgroup can do something else meanwhile.
namespace trainyard::backend::cuda::device {

inline constexpr int kWarpgroup = 128;  // threads

// 64 rows of 64 bf16 numbers. The 16 bytes c of row r lie at place c ^ r % 8 of the row, which spreads
// columns over the banks; the matrix units undo it. Begins at a multiple of 1024 bytes.
struct SwizzledTile {
  static constexpr int kRows = 64, kRowBytes = 128, kChunks = kRowBytes / 16;
  static constexpr std::uint32_t kBytes = kRows * kRowBytes;

  // Returns the address of a chunk of 16 bytes.
  __device__ static std::uint32_t chunk(std::uint32_t tile, int row, int c) {
    return tile + static_cast<std::uint32_t>(row * kRowBytes + ((c ^ row % 8) << 4));
  }

  // Tells the matrix units of a tile. Numbers step by 16: along a row (kAlongRows) or from row to row
  // (kAcrossRows), whichever of both a product sums over.
  static constexpr std::uint64_t kAlongRows = 32 >> 4, kAcrossRows = 16 * kRowBytes >> 4;
  __device__ static std::uint64_t describe(std::uint32_t tile) {
    constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62,
                            kEightRows = std::uint64_t{8 * kRowBytes >> 4} << 32,
                            kUnused = std::uint64_t{1} << 16;
    return kSwizzle128 | kEightRows | kUnused | tile >> 4;
  }
};

// Behind this and a barrier the matrix units see what ordinary instructions, cp.async among them, wrote into
// shared memory.
__device__ inline void show_to_matrix_units() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Before the first product that reads or adds to registers which other instructions wrote.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// All but the last kLeft groups are done.
template <int kLeft>
__device__ inline void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// 64 x 64 numbers of a warpgroup: warp w has rows 16 w to 16 w + 15. [8 columns][place of number i: row
// lane / 4 + i / 2 * 8, column lane % 4 * 2 + i % 2].
using WarpgroupSums = float[8][4];

// Keeps the compiler from moving what uses the sums across this place.
__device__ inline void keep(WarpgroupSums& sums) {
#pragma unroll
  for (int n = 0; n < 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(sums[n][i])::"memory");
}

#define TRAINYARD_SUMS_OF(how, s)                                                                       \
  how(s[0][0]), how(s[0][1]), how(s[0][2]), how(s[0][3]), how(s[1][0]), how(s[1][1]), how(s[1][2]),     \
      how(s[1][3]), how(s[2][0]), how(s[2][1]), how(s[2][2]), how(s[2][3]), how(s[3][0]), how(s[3][1]), \
      how(s[3][2]), how(s[3][3]), how(s[4][0]), how(s[4][1]), how(s[4][2]), how(s[4][3]), how(s[5][0]), \
      how(s[5][1]), how(s[5][2]), how(s[5][3]), how(s[6][0]), how(s[6][1]), how(s[6][2]), how(s[6][3]), \
      how(s[7][0]), how(s[7][1]), how(s[7][2]), how(s[7][3])
#define TRAINYARD_NAMES_OF_SUMS                                                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, "                                                                                                 \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31}"

// sums (64 x 64) = 16 columns of a times b. kTurned: the product sums over the rows of that tile.
template <bool kTurnedA, bool kTurnedB>
__device__ inline void multiply_tiles(WarpgroupSums& sums, std::uint64_t a, std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " TRAINYARD_NAMES_OF_SUMS
               ", %32, %33, 0, 1, 1, %34, %35;"
               : TRAINYARD_SUMS_OF("=f", sums)
               : "l"(a), "l"(b), "n"(static_cast<int>(kTurnedA)), "n"(static_cast<int>(kTurnedB)));
}

// The same, added to the sums.
template <bool kTurnedA, bool kTurnedB>
__device__ inline void multiply_add_tiles(WarpgroupSums& sums, std::uint64_t a, std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " TRAINYARD_NAMES_OF_SUMS
               ", %32, %33, 1, 1, 1, %34, %35;"
               : TRAINYARD_SUMS_OF("+f", sums)
               : "l"(a), "l"(b), "n"(static_cast<int>(kTurnedA)), "n"(static_cast<int>(kTurnedB)));
}

// The same with a in registers, added; they stay as they are until the product is done.
template <bool kTurnedB>
__device__ inline void multiply_add_registers(WarpgroupSums& sums, const std::uint32_t (&a)[4],
                                              std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " TRAINYARD_NAMES_OF_SUMS
               ", {%32, %33, %34, %35}, %36, 1, 1, 1, %37;"
               : TRAINYARD_SUMS_OF("+f", sums)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(static_cast<int>(kTurnedB)));
}

#undef TRAINYARD_SUMS_OF
#undef TRAINYARD_NAMES_OF_SUMS

}  // namespace trainyard::backend::cuda::device
