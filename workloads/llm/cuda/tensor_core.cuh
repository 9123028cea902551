#pragma once

#include "device.cuh"

// The tensor cores' instructions. A warp's lane has g = lane / 4 and t = lane % 4; of an m16n8k16 product it
// holds A at rows g, g + 8 and columns 2t, 2t + 1, 2t + 8, 2t + 9; B at those k and column g; C and D at
// rows g, g + 8 and columns 2t, 2t + 1.
namespace profgate::llm::cuda {

/// d += a * b, in float32.
__device__ inline void multiply_tile(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                     unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, "
      "%1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// Four 8 x 8 matrices; lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void load_matrices(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ inline void load_matrices_transposed(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// Copies 16 bytes to shared memory in the background, or zeroes them where `valid` is false.
__device__ inline void copy_async(unsigned to_shared, const void* from, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to_shared), "l"(from), "r"(bytes)
               : "memory");
}

__device__ inline void close_copy_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most `Pending` of the groups closed last are still under way.
template <int Pending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// Tiles of rows of 16-byte chunks lie in shared memory with the chunks of a row exchanged by its number, so
/// that the eight rows of a matrix are in different banks. Returns bytes; row_chunks is a multiple of 8.
template <int RowChunks>
__device__ inline unsigned swizzled(int row, int chunk) {
  static_assert(RowChunks % 8 == 0);
  return static_cast<unsigned>((row * RowChunks + (chunk ^ (row & 7))) * 16);
}

}  // namespace profgate::llm::cuda
