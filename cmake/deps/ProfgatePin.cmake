include_guard(GLOBAL)

# profgate_pin(<name>
#   HEADERS <file>...               headers that must be found; each gives one include directory
#   [LIBRARIES <lib>...]            libraries to link, by their -l name; a static archive is preferred
#   [LINK <item>...] [DEFINITIONS <def>...]      what users of the library need besides
#   [INCLUDE_HINTS <glob>...]       absolute places outside the usual prefixes, also looked for inside fetched trees
#   [PKG_CONFIG <name>] [VERSION_PATTERN <regex>] how the version is told: the .pc file, or the last group in the first header
#   [PACKAGES <deb>...]             Debian/Ubuntu -dev packages that hold it
#   [VERSION <v> URL <url> SHA256 <hash>]        pinned download: an archive, or the header itself
#   [SOURCES <glob>...] [SOURCES_EXCLUDED <regex>] [SOURCE_INCLUDES <dir>...] [SOURCE_DEFINITIONS <def>...]
#                                   how a source tree is compiled, relative to its root
#   [SOURCE_PACKAGE <deb-src> SOURCE_PACKAGE_FILE <path> SOURCE_PACKAGE_SHA256 <hash>]
#                                   a Debian source package that carries the one header
#   [NONFREE_PACKAGES <deb>...])    packages outside main that hold it
#
# Sets PROFGATE_PIN_<name>_<KEYWORD> in the caller's scope, hence a macro.
macro(profgate_pin name)
  cmake_parse_arguments(PROFGATE_PIN_${name} ""
    "PKG_CONFIG;VERSION_PATTERN;VERSION;URL;SHA256;SOURCES_EXCLUDED;SOURCE_PACKAGE;SOURCE_PACKAGE_FILE;SOURCE_PACKAGE_SHA256"
    "HEADERS;LIBRARIES;LINK;DEFINITIONS;INCLUDE_HINTS;PACKAGES;SOURCES;SOURCE_INCLUDES;SOURCE_DEFINITIONS;NONFREE_PACKAGES"
    ${ARGN})
  if(PROFGATE_PIN_${name}_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "profgate_pin(${name}): unknown arguments: ${PROFGATE_PIN_${name}_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT PROFGATE_PIN_${name}_HEADERS)
    message(FATAL_ERROR "profgate_pin(${name}): HEADERS is missing; name a header that tells that ${name} is there")
  endif()
  if(PROFGATE_PIN_${name}_URL AND NOT PROFGATE_PIN_${name}_SHA256)
    message(FATAL_ERROR "profgate_pin(${name}): URL without SHA256; a download is only used when its hash is known")
  endif()
endmacro()
