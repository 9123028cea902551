include_guard(GLOBAL)

# Every third-party library: how it is found, the oldest release that serves, and where it may be had.
#
# profgate_pin(<name>
#   PACKAGE <package> TARGETS <target>...  what find_package is asked for, and its target (the first that exists)
#   | HEADER <file> [LIBRARY <name>...]    or a header without a package, found on CMAKE_PREFIX_PATH, and its library
#   OLDEST <version>                       older ones are passed over, and named
#   [LINK <target>...]                     what users of the header need besides
#   [HINTS <glob>...]                      absolute include directories outside of the usual prefixes
#   [VERSION_PATTERN <regex>]              finds the version in the header, as the last group; where there is a LIBRARY,
#                                          as all of its groups
#   [DEBIAN <package>...]                  Debian or Ubuntu packages that hold it
#   [NONFREE <package>...]                 the same, of the component non-free (Ubuntu: multiverse)
#   [VERSION <v> URL <url> SHA256 <hash>]  pinned download: an archive with a CMakeLists.txt, or the header itself
#   [ARCHIVE_INCLUDE <folder>]             where the header lies in an archive that is not built
#   [SOURCE_PACKAGE <package> <file> <sha256>])   a Debian source package that carries the header
#
# Sets PROFGATE_PIN_<name>_<KEYWORD> in the caller's scope, hence a macro.
macro(profgate_pin name)
  cmake_parse_arguments(PROFGATE_PIN_${name} ""
    "PACKAGE;HEADER;OLDEST;VERSION_PATTERN;VERSION;URL;SHA256;ARCHIVE_INCLUDE"
    "TARGETS;LIBRARY;LINK;HINTS;DEBIAN;NONFREE;SOURCE_PACKAGE" ${ARGN})
  if(PROFGATE_PIN_${name}_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "profgate_pin(${name}): unknown arguments: ${PROFGATE_PIN_${name}_UNPARSED_ARGUMENTS}")
  endif()
  if(PROFGATE_PIN_${name}_URL AND NOT PROFGATE_PIN_${name}_SHA256)
    message(FATAL_ERROR "profgate_pin(${name}): URL without SHA256; a download is only used when its hash is known")
  endif()
endmacro()

set(PROFGATE_DEPENDENCIES fmt json yaml cli11 benchmark sqlite zlib pcre2 nvtx rapidcsv inja)

profgate_pin(fmt PACKAGE fmt TARGETS fmt::fmt OLDEST 9.1 DEBIAN libfmt-dev
  VERSION 10.2.1 URL https://github.com/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz
  SHA256 1250e4cc58bf06ee631567523f48848dc4596133e163f02615c97f78bab6c811)

profgate_pin(json PACKAGE nlohmann_json TARGETS nlohmann_json::nlohmann_json OLDEST 3.11.2 DEBIAN nlohmann-json3-dev
  VERSION 3.11.3 URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  SHA256 d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)

profgate_pin(yaml PACKAGE yaml-cpp TARGETS yaml-cpp::yaml-cpp yaml-cpp OLDEST 0.7 DEBIAN libyaml-cpp-dev
  VERSION 0.8.0 URL https://github.com/jbeder/yaml-cpp/archive/refs/tags/0.8.0.tar.gz
  SHA256 fbe74bbdcee21d656715688706da3c8becfd946d92cd44705cc6098bb23b3a16)

profgate_pin(cli11 PACKAGE CLI11 TARGETS CLI11::CLI11 OLDEST 2.1 DEBIAN libcli11-dev
  VERSION 2.4.2 URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
  SHA256 f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a)

profgate_pin(benchmark PACKAGE benchmark TARGETS benchmark::benchmark OLDEST 1.7 DEBIAN libbenchmark-dev
  VERSION 1.8.3 URL https://github.com/google/benchmark/archive/refs/tags/v1.8.3.tar.gz
  SHA256 6bc180a57d23d4d9515519f92b0c83d61b05b5bab188961f36ac7b06b0d9e9ce)

profgate_pin(gtest PACKAGE GTest TARGETS GTest::gmock OLDEST 1.12 DEBIAN libgtest-dev libgmock-dev
  VERSION 1.14.0 URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
  SHA256 8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7)

# The amalgamation has no CMakeLists.txt, and a prefix with one is not hard to come by: no download.
profgate_pin(sqlite PACKAGE SQLite3 TARGETS SQLite3::SQLite3 SQLite::SQLite3 OLDEST 3.37 DEBIAN libsqlite3-dev)

profgate_pin(zlib PACKAGE ZLIB TARGETS ZLIB::ZLIB zlibstatic OLDEST 1.2.11 DEBIAN zlib1g-dev
  VERSION 1.3.1 URL https://github.com/madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.gz
  SHA256 9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23)

# Debian's package has no CMake file. The runtime library, which most machines have, serves a header from elsewhere.
profgate_pin(pcre2 HEADER pcre2.h LIBRARY pcre2-8 libpcre2-8.so.0 OLDEST 10.30 DEBIAN libpcre2-dev
  VERSION_PATTERN "define PCRE2_MAJOR +([0-9]+)[^#]*#define PCRE2_MINOR +([0-9]+)")

# The C headers are enough; they come with the CUDA Toolkit and with Nsight Systems.
profgate_pin(nvtx HEADER nvtx3/nvToolsExt.h OLDEST 3 LINK ${CMAKE_DL_LIBS}
  VERSION_PATTERN "define NVTX_VERSION +([0-9]+)"
  HINTS /usr/local/cuda/include
        /usr/local/cuda/targets/*/include
        /opt/nvidia/nsight-systems/*/target-linux-*/nvtx/include
        /usr/lib/*/nsight-systems/target-linux-*/nvtx/include
        /usr/lib/nsight-systems/target-linux-*/nvtx/include
  NONFREE nsight-systems-target
  VERSION 3.1.0 URL https://github.com/NVIDIA/NVTX/archive/refs/tags/v3.1.0.tar.gz
  SHA256 dc4e4a227d04d3da46ad920dfee5f7599ac8d6b2ee1809c9067110fb1cc71ced
  ARCHIVE_INCLUDE c/include)

profgate_pin(rapidcsv HEADER rapidcsv.h OLDEST 8
  VERSION_PATTERN "(Version: +v?|FileCopyrightText: 2017-)([0-9.]+)"
  VERSION 8.99 URL https://raw.githubusercontent.com/d99kris/rapidcsv/v8.99/src/rapidcsv.h
  SHA256 ae468fd646ce43a181db9d3c1fd6b5356a0513e2f2306331b164a619ff3e014e
  SOURCE_PACKAGE kstars kstars/auxiliary/rapidcsv.h 1e33d6e98871057df364df9310e5d4128f690f701e488c12e34a588b72ceaaf3)

profgate_pin(inja HEADER inja/inja.hpp OLDEST 3.3 LINK profgate::deps::json DEBIAN inja-dev
  VERSION_PATTERN "Version ([0-9.]+)"
  VERSION 3.5.0 URL https://raw.githubusercontent.com/pantor/inja/v3.5.0/single_include/inja/inja.hpp
  SHA256 5f3d3a54e49a9ef256969e8e1db067fae618e1049e749d0ea814bb26ce7f364b
  SOURCE_PACKAGE r-cran-jinjar src/inja/inja.hpp 40467af17abaf6938a58efb7d331ed6e873e8488f3cd2bb7262a14445d25a6eb)
