#include "core/library_kernels.h"

#include <gtest/gtest.h>

namespace profgate::core {
namespace {

TEST(library_of_kernel, knows_what_the_libraries_ship) {
  for (const char* const name :
       {"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT and 1 more",
        "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x16_kernel",
        "ampere_fp16_s16816gemm_fp16_128x64_ldg8_relu_f2f_stages_64x3_tn", "ampere_sgemm_32x128_tn",
        "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>"
        "(T1::Params)",
        "void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float>(cublasLt::cublasSplitKParams<T6>)",
        "void splitKreduce_kernel<32, 16, int, float>(int) and 2 more"})
    EXPECT_EQ(library_of_kernel(name), "cuBLASLt") << name;
  for (const char* const name :
       {"void gemv2T_kernel_val<int, int, float, cublasGemvParamsEx<int, float>>(T1, float)",
        "void gemvNSP_kernel<__nv_bfloat16, float, (int)1, (int)32>(T9)",
        "void internal::gemvx::kernel<int, int, __nv_bfloat16, (int)7, (bool)0>(T13)",
        "void gemmSN_TN_kernel<float, 128, 16>(float)"})
    EXPECT_EQ(library_of_kernel(name), "cuBLAS") << name;
  for (const char* const name :
       {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_kernel0_0",
        "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_g1_kernel__5x_"
        "cudnn",
        "void cudnn::cnn::conv2d_grouped_direct_kernel<(bool)0>(cudnn::cnn::GroupedDirectFpropParams)",
        "volta_scudnn_128x64_relu_interior_nn_v1",
        "void implicit_convolve_sgemm<float, float, (int)1024>(int, int, int)",
        "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop>(T1::Params)"})
    EXPECT_EQ(library_of_kernel(name), "cuDNN") << name;
}

TEST(library_of_kernel, is_nobodys_where_a_program_brings_its_own) {
  for (const char* const name :
       {"void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<(int)128, (int)64, cutlass::bfloat16_t>, "
        "(bool)0>(Flash_fwd_params)",
        "void "
        "cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<(int)2>>>(T1::Params)",
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, "
        "int>>>(T1::Params)",
        "void cutlass::Kernel2<cutlass::gemm::kernel::GemmUniversal<cutlass::arch::Sm80>>(T1::Params)",
        "void cutlass::Kernel<cutlass_tensorop_bf16_s16816gemm_bf16_128x128_32x5_tn_align8>(T1::Params)",
        "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(AttentionKernel<cutlass::bfloat16_t>::Params)",
        "void gemv<__nv_bfloat16, 1, 8>(vector_products::gemv_arguments<T1>)", "my_xmma_gemm", "ampere_copy",
        "void <unnamed>::fused<cublasLt::epilogue>(int)", "sm_count_kernel", "triton_mm", ""})
    EXPECT_EQ(library_of_kernel(name), "") << name;
}

TEST(library_of_both, holds_cublaslt_for_a_part_of_cublas) {
  EXPECT_EQ(library_of_both("nvjet_sm90_tst_64x8_TNT", "ampere_sgemm_32x128_tn"), "cuBLASLt");
  EXPECT_EQ(library_of_both("nvjet_sm90_tst_64x8_TNT", "void gemvNSP_kernel<float>(T9)"), "cuBLAS");
  EXPECT_EQ(library_of_both("cudnn_generated_a", "cudnn_generated_b"), "cuDNN");
  EXPECT_EQ(library_of_both("nvjet_sm90_tst_64x8_TNT", "cudnn_generated_a"), "");
  EXPECT_EQ(library_of_both("gemv", "gemv"), "");
}

}  // namespace
}  // namespace profgate::core
