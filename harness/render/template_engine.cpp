#include "template_engine.h"

#include <fmt/format.h>

#include <fstream>
#include <inja/inja.hpp>
#include <iterator>

#include "core/error.h"
#include "core/escape.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

const std::string& text_argument(const inja::Arguments& arguments, std::size_t index) {
  if (!arguments.at(index)->is_string()) {
    throw std::invalid_argument(fmt::format("argument {} is no text", index + 1));
  }
  return arguments.at(index)->get_ref<const std::string&>();
}

void add_callbacks(inja::Environment& environment) {
  environment.add_callback(
      "md", 1, [](inja::Arguments& a) { return json(core::escape_markdown(text_argument(a, 0))); });
  environment.add_callback("name", 1,
                           [](inja::Arguments& a) { return json(markdown_name(text_argument(a, 0))); });
  environment.add_callback("html", 1,
                           [](inja::Arguments& a) { return json(core::escape_html(text_argument(a, 0))); });
  environment.add_callback("link", 1,
                           [](inja::Arguments& a) { return json(link_target(text_argument(a, 0))); });
  environment.add_callback("cell", 3, [](inja::Arguments& a) {
    return json(cell(*a.at(0), text_argument(a, 1), text_argument(a, 2)));
  });
  environment.add_callback("or_reason", 3, [](inja::Arguments& a) {
    return json(or_reason(*a.at(0), text_argument(a, 1), text_argument(a, 2)));
  });
  environment.add_callback("plus_minus", 3, [](inja::Arguments& a) {
    return json(plus_minus(*a.at(0), text_argument(a, 1), text_argument(a, 2)));
  });
  environment.add_callback("told", 2,
                           [](inja::Arguments& a) { return json(told_text(*a.at(0), text_argument(a, 1))); });
  environment.add_callback("column", 2,
                           [](inja::Arguments& a) { return column(*a.at(0), text_argument(a, 1)); });
  environment.add_callback("distinct", 2,
                           [](inja::Arguments& a) { return distinct(*a.at(0), text_argument(a, 1)); });
  environment.add_callback("having", 2,
                           [](inja::Arguments& a) { return having(*a.at(0), text_argument(a, 1)); });
  environment.add_callback("reasons", 2, [](inja::Arguments& a) { return reasons(*a.at(0), *a.at(1)); });
  environment.add_callback("fact", 3, [](inja::Arguments& a) {
    return json(fact(*a.at(0), text_argument(a, 1), text_argument(a, 2)));
  });
  environment.add_callback("is_known", 2,
                           [](inja::Arguments& a) { return json(is_known(*a.at(0), text_argument(a, 1))); });
  environment.add_callback("has_any", 2,
                           [](inja::Arguments& a) { return json(has_any(*a.at(0), *a.at(1))); });
  environment.add_callback("has_lists", 2,
                           [](inja::Arguments& a) { return json(has_lists(*a.at(0), text_argument(a, 1))); });
  environment.add_callback("ends_with", 2, [](inja::Arguments& a) {
    return json(text_argument(a, 0).ends_with(text_argument(a, 1)));
  });
  environment.add_callback("is_null", 1, [](inja::Arguments& a) { return json(a.at(0)->is_null()); });
  environment.add_callback("html_cell", 3, [](inja::Arguments& a) {
    return json(html_cell(*a.at(0), text_argument(a, 1), text_argument(a, 2)));
  });
  environment.add_callback("reason", 2,
                           [](inja::Arguments& a) { return json(reason_of(*a.at(0), text_argument(a, 1))); });
  // For a block of code, where escapes would show: the text on one line that no fence can end.
  environment.add_callback("plain", 1,
                           [](inja::Arguments& a) { return json(one_plain_line(text_argument(a, 0))); });
  environment.add_callback("take", 2,
                           [](inja::Arguments& a) { return first(*a.at(0), a.at(1)->get<std::size_t>()); });
}

inja::Environment make_environment() {
  inja::Environment environment;
  // The engine's own "##" for line statements would swallow every Markdown heading.
  environment.set_line_statement("#!statement");
  environment.set_trim_blocks(true);
  environment.set_lstrip_blocks(true);
  environment.set_search_included_templates_in_files(false);
  add_callbacks(environment);
  return environment;
}

/// Files that the text names in `{% include "…" %}`, which lie beside it. (The engine would look for them
/// from the current folder.)
void include_files(inja::Environment& environment, std::string_view text,
                   const std::filesystem::path& folder) {
  constexpr std::string_view statement = "{% include \"";
  for (std::size_t at = text.find(statement); at != std::string_view::npos; at = text.find(statement, at)) {
    at += statement.size();
    const std::string name(text.substr(at, text.find('"', at) - at));
    environment.include_template(name, environment.parse(read_template(folder / name)));
  }
}

[[noreturn]] void reject_template(const std::string& file, const std::string& what) {
  throw core::bad_input(file + ": " + what,
                        "correct the template; harness/analysis/PROFILE.md lists the fields");
}

}  // namespace

std::string read_template(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw core::bad_input(path.string(), 0, "cannot be read",
                          "point at profgate's templates folder, or install profgate again");
  }
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string fill_template(const json& document, std::string_view template_text,
                          const std::string& template_file) {
  inja::Environment environment = make_environment();
  try {
    include_files(environment, template_text, std::filesystem::path(template_file).parent_path());
    const inja::Template parsed = environment.parse(std::string(template_text));
    return environment.render(parsed, document);
  } catch (const inja::InjaError& error) {
    reject_template(fmt::format("{}:{}:{}", template_file, error.location.line, error.location.column),
                    error.message);
  } catch (const std::exception& error) {
    // A callback's own complaint; the engine does not say from where it was called.
    reject_template(template_file, error.what());
  }
}

std::string fill_template_file(const json& document, const std::filesystem::path& template_path) {
  return fill_template(document, read_template(template_path), template_path.string());
}

}  // namespace profgate::render
