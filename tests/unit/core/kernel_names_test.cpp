#include "core/kernel_names.h"

#include <gtest/gtest.h>

namespace profgate::core {
namespace {

TEST(demangle, leaves_other_names_alone) {
  EXPECT_EQ(demangle("_Z4axpyPfi"), "axpy(float*, int)");
  EXPECT_EQ(demangle("nvjet_sm90_tst"), "nvjet_sm90_tst");
  EXPECT_EQ(demangle("_Zbroken"), "_Zbroken");
  EXPECT_EQ(demangle("i"), "i") << "a C kernel's name, which is also the mangled name of int";
}

TEST(documented_call_name, drops_the_version_that_a_tracer_appends) {
  EXPECT_EQ(documented_call_name("cudaStreamSynchronize_v3020"), "cudaStreamSynchronize");
  EXPECT_EQ(documented_call_name("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  for (const char* const name :
       {"cuMemAlloc_v2", "cuCtxSynchronize", "cudaFree", "cuda_v", "", "cudaX_v12a4"})
    EXPECT_EQ(documented_call_name(name), name);
}

TEST(normalise_kernel_name, keeps_of_library_products_what_they_compute) {
  EXPECT_EQ(normalise_kernel_name("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_NNT"),
            "gemm/nvjet/tst/splitK/NNT");
  EXPECT_EQ(normalise_kernel_name("nvjet_sm90_tst_64x64_64x13_4x1_v_bz_TNT"), "gemm/nvjet/tst/TNT");
  EXPECT_EQ(normalise_kernel_name("nvjet_sm100_tst_128x64_64x9_2x1_h_bx_TNT"), "gemm/nvjet/tst/TNT");
  EXPECT_EQ(normalise_kernel_name("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"),
            normalise_kernel_name("ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x6_tn"));
  EXPECT_EQ(
      normalise_kernel_name("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_stage6_warpsize2x2x1_"
                            "tensor16x8x16_kernel"),
      "gemm/xmma/bf16bf16/bf16f32/f32/tn/n");
  EXPECT_EQ(
      normalise_kernel_name(
          "void "
          "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8>(T1::Params)"),
      "gemm/cutlass/tensorop/bf16/s16816gemm/relu/bf16/tn");
}

TEST(normalise_kernel_name, tells_other_dtypes_layouts_and_split_k_apart) {
  const auto differ = [](const char* a, const char* b) {
    EXPECT_NE(normalise_kernel_name(a), normalise_kernel_name(b)) << a << " and " << b;
  };
  differ("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_NNT", "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT");
  differ("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT", "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT");
  differ("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT", "nvjet_sm90_hsh_64x8_64x16_2x1_v_bz_NNT");
}

TEST(normalise_kernel_name, drops_return_type_parameters_and_whole_numbers) {
  EXPECT_EQ(normalise_kernel_name(
                "void ns::split_attention<__nv_bfloat16, (int)128, (bool)1>(ns::inputs<T1>, int)"),
            "ns::split_attention<__nv_bfloat16,#,#>");
  EXPECT_EQ(normalise_kernel_name("void f<128, true, 4ul, -1>(int)"), "f<#,#,#,#>");
  EXPECT_EQ(normalise_kernel_name("ns::choose_kernel(const float *, int, int, ns::state)"),
            "ns::choose_kernel");
  EXPECT_EQ(normalise_kernel_name("plain_kernel"), "plain_kernel");
}

TEST(normalise_kernel_name, keeps_values_of_enums_since_they_choose_the_work) {
  EXPECT_EQ(normalise_kernel_name("void p::product<bf16, (p::end)3, (int)2>(int)"),
            "p::product<bf16,(p::end)3,#>");
  EXPECT_NE(normalise_kernel_name("void p::product<bf16, (p::end)3>(int)"),
            normalise_kernel_name("void p::product<bf16, (p::end)1>(int)"));
}

TEST(normalise_kernel_name, drops_clones_lambda_numbers_and_architectures) {
  EXPECT_EQ(normalise_kernel_name("f(int) [clone .kd]"), "f");
  EXPECT_EQ(normalise_kernel_name("f.constprop.0"), "f");
  EXPECT_EQ(normalise_kernel_name("void each<main::{lambda(int)#1}>(T)"),
            normalise_kernel_name("void each<main::{lambda(int)#12}>(T)"));
  EXPECT_EQ(normalise_kernel_name("void each<[lambda(int) (instance 1)]>(T)"),
            normalise_kernel_name("void each<[lambda(int) (instance 2)]>(T)"));
  EXPECT_EQ(normalise_kernel_name("void each<$_0>(T)"), normalise_kernel_name("void each<$_3>(T)"));
  EXPECT_EQ(normalise_kernel_name("flash_fwd_sm90_kernel"), "flash_fwd_kernel");
  EXPECT_EQ(normalise_kernel_name("sm80_flash_fwd"), normalise_kernel_name("sm90a_flash_fwd"));
  EXPECT_EQ(normalise_kernel_name("small_kernel"), "small_kernel");  // no architecture
}

TEST(normalise_kernel_name, keeps_anonymous_namespaces_and_survives_odd_names) {
  EXPECT_EQ(normalise_kernel_name("void a::(anonymous namespace)::k<int>(int)"),
            "a::(anonymousnamespace)::k<int>");
  EXPECT_EQ(normalise_kernel_name("(anonymous namespace)::k(int)"), "(anonymousnamespace)::k");
  EXPECT_EQ(normalise_kernel_name(""), "");
  for (const char* odd :
       {"<", ">", "((", "))(", "void ", "a<b", "cutlass::Kernel>", "$", "#1", "_", "gemm"}) {
    EXPECT_NO_THROW(normalise_kernel_name(odd)) << odd;
  }
  EXPECT_NO_THROW(normalise_kernel_name(std::string(10'000, '<')));
}

TEST(readable_kernel_name, has_no_namespaces_casts_parameters_and_bodies_of_lambdas_at_any_depth) {
  EXPECT_EQ(readable_kernel_name("void at::native::vectorized_elementwise_kernel<(int)8, "
                                 "at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char *, (unsigned "
                                 "long)3>>(int, T2, T3)"),
            "vectorized_elementwise_kernel<8, CUDAFunctor_add<BFloat16>, array<char *, 3>>");
  EXPECT_EQ(readable_kernel_name("void <unnamed>::elementwise_kernel_with_index<int, "
                                 "at::native::arange_cuda_out(const c10::Scalar &, at::Tensor &)::[lambda() "
                                 "(instance 1)]::operator ()() const::[lambda(long) (instance 1)]>(int, T2)"),
            "elementwise_kernel_with_index<int, arange_cuda_out>");
  EXPECT_EQ(readable_kernel_name("void a::(anonymous namespace)::product<bf16, (a::end)3, (int)-2>(int)"),
            "product<bf16, 3, -2>");
  EXPECT_EQ(readable_kernel_name("void internal::gemvx::kernel<int, (bool)0>(T1)"), "gemvx::kernel<int, 0>");
  EXPECT_EQ(readable_kernel_name("void (anonymous namespace)::kernel(int)"), "kernel");
  EXPECT_EQ(readable_kernel_name("void each<main::{lambda(int)#1}>(T)"), "each<main>");
  EXPECT_EQ(readable_kernel_name("void gpu<void at::native::impl<float>(at::It &)::[lambda(int) (instance "
                                 "1)]>(int)"),
            "gpu<impl<float>>");
}

TEST(readable_kernel_name, is_the_same_whoever_demangled_it) {
  const std::string name = "f<add<BFloat16>, array<char *, 3>, T<int> *, -2>";
  EXPECT_EQ(readable_kernel_name("void f<add<c10::BFloat16>, std::array<char *, (unsigned long)3>, T<int> *, "
                                 "(int)-2>(int)"),
            name);
  EXPECT_EQ(readable_kernel_name("void f<add<c10::BFloat16>, std::array<char*, 3ul>, T<int>*, -2>(int)"),
            name);
  EXPECT_EQ(readable_kernel_name("void f<ul, 3x, char const**, &g>()"), "f<ul, 3x, char const **, &g>");
}

TEST(short_kernel_names, keep_what_tells_two_apart) {
  const std::string first = "void each<silu(int)::[lambda() (instance 1)]>(T)";
  const std::string second = "void each<silu(int)::[lambda() (instance 2)]>(T)";
  const short_kernel_names names(
      {first, second, "void a::f(int)", "void a::f(float)", "g(int)", "a::h", "b::h"});
  EXPECT_EQ(short_kernel_name(first), short_kernel_name(second));
  EXPECT_EQ(names.of(first), "each<silu(int)[lambda() (instance 1)]>");
  EXPECT_EQ(names.of(second), "each<silu(int)[lambda() (instance 2)]>");
  EXPECT_EQ(names.of("void a::f(int)"), "void a::f(int)");
  EXPECT_EQ(names.of("void a::f(float)"), "void a::f(float)");
  EXPECT_EQ(names.of("g(int)"), "g");
  EXPECT_EQ(names.of("a::h"), "a::h");
  EXPECT_EQ(names.of("void other::k(int)"), "k") << "what it is called alone";
}

/// As PyTorch 2.11 has them.
TEST(short_kernel_names, keep_the_operation_inside_of_an_elementwise_kernel) {
  const std::string in_native = "void at::native::";
  const std::string multiply =
      "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
      "at::native::binary_internal::MulFunctor<float>>";
  EXPECT_EQ(
      short_kernel_name(
          in_native + "elementwise_kernel<(int)128, (int)4, void at::native::" + "gpu_kernel_impl_nocast<" +
          multiply + ">(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)"),
      "elementwise_kernel<128, 4, BinaryFunctor<BFloat16, …, MulFunctor<float>>>");
  EXPECT_EQ(short_kernel_name(in_native + "vectorized_elementwise_kernel<(int)8, " + multiply +
                              ", std::array<char *, (unsigned long)3>>(int, T2, T3)"),
            "vectorized_elementwise_kernel<…, BinaryFunctor<…, MulFunctor<float>>, …>");
  EXPECT_EQ(
      short_kernel_name(
          in_native +
          "unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase "
          "&)::[lambda() "
          "(instance 3)], std::array<char *, (unsigned long)2>, (int)4, TrivialOffsetCalculator<(int)1, "
          "unsigned int>, TrivialOffsetCalculator<(int)1, unsigned int>, "
          "at::native::memory::LoadWithCast<1>, "
          "at::native::memory::StoreWithCast<1>>(int, T1)"),
      "unrolled_elementwise_kernel<direct_copy_kernel_cuda, …, 4, …>");
  EXPECT_EQ(short_kernel_name(in_native +
                              "reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, "
                              "at::native::MeanOps<float, float, float, float>, unsigned int, float, (int)4, "
                              "(int)4>>(T3)"),
            "reduce_kernel<…, ReduceOp<…, MeanOps<float, …>, …>>");
  EXPECT_EQ(short_kernel_name("void f<std::array<char *, (unsigned long)3>>(int)"), "f<array<char *, 3>>")
      << "what fits is whole";
}

TEST(short_kernel_names, tell_apart_what_differs_in_what_is_left_out_first) {
  const auto name = [](int operands) {
    return "void at::native::vectorized_elementwise_kernel<(int)8, at::native::BinaryFunctor<c10::BFloat16, "
           "c10::BFloat16, c10::BFloat16, at::native::MulFunctor<float>>, std::array<char *, (unsigned "
           "long)" +
           std::to_string(operands) + ">>(int, T2, T3)";
  };
  const short_kernel_names names({name(2), name(3)});
  EXPECT_NE(names.of(name(2)), names.of(name(3)));
}

TEST(short_kernel_names, cut_long_ones_to_where_they_differ) {
  const auto name = [](const std::string& middle) {
    return "void f<" + std::string(90, 'x') + middle + std::string(90, 'y') + ">(T)";
  };
  const short_kernel_names names({name("one"), name("two"), "void f<1>(T)"});
  EXPECT_EQ(names.of(name("one")), "f<" + std::string(34, 'x') + "…one…yyyyyyy>");
  EXPECT_EQ(names.of(name("two")), "f<" + std::string(34, 'x') + "…two…yyyyyyy>");
  EXPECT_LE(short_kernel_name(name("one")).size(), 80U);
  // Where even that is too long, they are counted.
  const auto longer = [](char c) {
    return std::string(60, 'a') + std::string(40, c) + "b" + std::string(40, c);
  };
  const std::string one =
      "h" + std::string(200, 'k') + "1" + std::string(20, 'k') + "2" + std::string(200, 'k');
  const std::string two =
      "h" + std::string(200, 'k') + "2" + std::string(20, 'k') + "2" + std::string(200, 'k');
  EXPECT_NE(short_kernel_names({one, two}).of(one), short_kernel_names({one, two}).of(two));
  EXPECT_NO_THROW(short_kernel_names({longer('x'), longer('y'), "", "<", std::string(9000, '<')}));
}

TEST(readable_kernel_name, is_what_a_person_calls_the_kernel) {
  EXPECT_EQ(readable_kernel_name("void a::b::f<a::T, (int)2>(a::args<int>)"), "f<T, 2>");
  EXPECT_EQ(readable_kernel_name("void a::f<2>(a::T *, int) [clone .kd]"), "f<2>");
  EXPECT_EQ(readable_kernel_name("nvjet_sm90_tst_64x8_64x16_1x2_h_badd_TNT"),
            "nvjet_sm90_tst_64x8_64x16_1x2_h_badd_TNT");
  EXPECT_EQ(readable_kernel_name("copy host to device"), "copy host to device");
  EXPECT_EQ(readable_kernel_name("void a::f(int) and 3 more"), "f and 3 more");
  for (const std::string_view odd : {"", "(", ")", "<)", " and  more", "and more", "::", "()"}) {
    EXPECT_NO_THROW(readable_kernel_name(odd)) << odd;
  }
}

}  // namespace
}  // namespace profgate::core
