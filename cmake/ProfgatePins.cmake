include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/deps/ProfgatePin.cmake)

# Every third-party library: how it is recognised, and where it may come from. The order of the sources is the
# same for all (see ProfgateDependencies.cmake); a source that a row does not name is not tried.
set(PROFGATE_DEPENDENCIES fmt json yaml cli11 benchmark sqlite zlib nvtx rapidcsv inja)

# Not header-only: that more than doubles the time of compiling each source.
profgate_pin(fmt
  HEADERS fmt/format.h
  LIBRARIES fmt
  PKG_CONFIG fmt
  PACKAGES libfmt-dev
  VERSION 10.2.1
  URL https://github.com/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz
  SHA256 1250e4cc58bf06ee631567523f48848dc4596133e163f02615c97f78bab6c811
  SOURCES src/format.cc src/os.cc)

profgate_pin(json
  HEADERS nlohmann/json.hpp
  PKG_CONFIG nlohmann_json
  PACKAGES nlohmann-json3-dev
  VERSION 3.11.3
  URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  SHA256 d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)

profgate_pin(yaml
  HEADERS yaml-cpp/yaml.h
  LIBRARIES yaml-cpp
  PKG_CONFIG yaml-cpp
  PACKAGES libyaml-cpp-dev
  VERSION 0.8.0
  URL https://github.com/jbeder/yaml-cpp/archive/refs/tags/0.8.0.tar.gz
  SHA256 fbe74bbdcee21d656715688706da3c8becfd946d92cd44705cc6098bb23b3a16
  SOURCES src/*.cpp src/contrib/*.cpp
  SOURCE_DEFINITIONS YAML_CPP_STATIC_DEFINE)

profgate_pin(cli11
  HEADERS CLI/CLI.hpp
  PKG_CONFIG CLI11
  PACKAGES libcli11-dev
  VERSION 2.4.2
  URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
  SHA256 f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a)

profgate_pin(benchmark
  HEADERS benchmark/benchmark.h
  LIBRARIES benchmark
  LINK Threads::Threads
  PKG_CONFIG benchmark
  PACKAGES libbenchmark-dev
  VERSION 1.8.3
  URL https://github.com/google/benchmark/archive/refs/tags/v1.8.3.tar.gz
  SHA256 6bc180a57d23d4d9515519f92b0c83d61b05b5bab188961f36ac7b06b0d9e9ce
  SOURCES src/*.cc
  SOURCES_EXCLUDED benchmark_main\\.cc$
  SOURCE_DEFINITIONS BENCHMARK_STATIC_DEFINE HAVE_STD_REGEX HAVE_STEADY_CLOCK)

profgate_pin(gtest
  HEADERS gtest/gtest.h gmock/gmock.h
  LIBRARIES gmock gtest_main gtest
  LINK Threads::Threads
  PKG_CONFIG gtest
  PACKAGES libgtest-dev libgmock-dev
  VERSION 1.14.0
  URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
  SHA256 8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7
  SOURCES googletest/src/gtest-all.cc googlemock/src/gmock-all.cc googletest/src/gtest_main.cc
  SOURCE_INCLUDES googletest googlemock)

# A machine may have only the runtime library: the header from elsewhere serves it, the C API is stable.
profgate_pin(sqlite
  HEADERS sqlite3.h
  LIBRARIES sqlite3
  LINK Threads::Threads ${CMAKE_DL_LIBS} m
  PKG_CONFIG sqlite3
  PACKAGES libsqlite3-dev
  VERSION 3.45.1
  URL https://www.sqlite.org/2024/sqlite-amalgamation-3450100.zip
  SHA256 5592243caf28b2cdef41e6ab58d25d653dfc53deded8450eb66072c929f030c4
  SOURCES sqlite3.c)

profgate_pin(zlib
  HEADERS zlib.h
  LIBRARIES z
  PKG_CONFIG zlib
  PACKAGES zlib1g-dev
  VERSION 1.3.1
  URL https://github.com/madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.gz
  SHA256 9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23
  SOURCES *.c
  SOURCE_DEFINITIONS HAVE_UNISTD_H)

# The C headers are enough; they come with the CUDA Toolkit and with Nsight Systems.
profgate_pin(nvtx
  HEADERS nvtx3/nvToolsExt.h
  LINK ${CMAKE_DL_LIBS}
  INCLUDE_HINTS /usr/local/cuda/include
                /usr/local/cuda/targets/*/include
                /opt/nvidia/nsight-systems/*/target-linux-*/nvtx/include
                /usr/lib/*/nsight-systems/target-linux-*/nvtx/include
                /usr/lib/nsight-systems/target-linux-*/nvtx/include
  VERSION_PATTERN "define NVTX_VERSION +([0-9]+)"
  VERSION 3.1.0
  URL https://github.com/NVIDIA/NVTX/archive/refs/tags/v3.1.0.tar.gz
  SHA256 dc4e4a227d04d3da46ad920dfee5f7599ac8d6b2ee1809c9067110fb1cc71ced
  NONFREE_PACKAGES nsight-systems-target)

profgate_pin(rapidcsv
  HEADERS rapidcsv.h
  VERSION_PATTERN "(Version: +v?|FileCopyrightText: 2017-)([0-9.]+)"
  VERSION 8.99
  URL https://raw.githubusercontent.com/d99kris/rapidcsv/v8.99/src/rapidcsv.h
  SHA256 ae468fd646ce43a181db9d3c1fd6b5356a0513e2f2306331b164a619ff3e014e
  SOURCE_PACKAGE kstars
  SOURCE_PACKAGE_FILE kstars/auxiliary/rapidcsv.h
  SOURCE_PACKAGE_SHA256 1e33d6e98871057df364df9310e5d4128f690f701e488c12e34a588b72ceaaf3)

profgate_pin(inja
  HEADERS inja/inja.hpp
  LINK profgate::deps::json
  VERSION_PATTERN "Version ([0-9.]+)"
  PACKAGES inja-dev
  VERSION 3.5.0
  URL https://raw.githubusercontent.com/pantor/inja/v3.5.0/single_include/inja/inja.hpp
  SHA256 5f3d3a54e49a9ef256969e8e1db067fae618e1049e749d0ea814bb26ce7f364b
  SOURCE_PACKAGE r-cran-jinjar
  SOURCE_PACKAGE_FILE src/inja/inja.hpp
  SOURCE_PACKAGE_SHA256 40467af17abaf6938a58efb7d331ed6e873e8488f3cd2bb7262a14445d25a6eb)
