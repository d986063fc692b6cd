"""The programming languages that are cut along their definitions: where each grammar comes from, and what to look for.

A query names what counts in a language, by these captures:

`@definition`  a named thing that is a section of its own: a function, a class, a module
`@binding`     the same, if it has several lines: a constant, a callback, a type alias
`@name`        what it is called; several are joined by spaces
`@owner`       what it belongs to although it stands elsewhere: the receiver of a Go method
`@lead`        a comment or attribute, which belongs to the definition that follows it directly

The `tags.scm` inside the wheels cannot replace them: a third of the wheels have none, and most of the others mark only
a part of a definition (in C its declarator), or names rather than definitions.
"""

from __future__ import annotations

from typing import NamedTuple


class Grammar(NamedTuple):
    """The module of a grammar's wheel, the query for its definitions, and the function that gives the language."""

    module: str
    query: str
    function: str = "language"


_PYTHON = """
[(function_definition name: (_) @name) (class_definition name: (_) @name)] @definition
(module (expression_statement (assignment left: (identifier) @name)) @binding)
[(comment) (decorator)] @lead
"""

_ECMASCRIPT = """
[(function_declaration name: (_) @name)
 (generator_function_declaration name: (_) @name)
 (class_declaration name: (_) @name)
 (method_definition name: (_) @name)] @definition
[(variable_declarator
   name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function) (class)])
 (assignment_expression
   left: [(identifier) (member_expression)] @name
   right: [(arrow_function) (function_expression) (generator_function) (class)])
 (pair key: (_) @name value: [(arrow_function) (function_expression)])] @binding
(program [
  (lexical_declaration (variable_declarator name: (identifier) @name))
  (variable_declaration (variable_declarator name: (identifier) @name))
  (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)))] @binding)
((call_expression function: (identifier) @_call arguments: (arguments . (string) @name)) @binding
 (#any-of? @_call "describe" "it" "test"))
[(comment) (decorator)] @lead
"""

_JAVASCRIPT = (
    _ECMASCRIPT
    + """
(field_definition property: (_) @name value: (arrow_function)) @binding
"""
)

_TYPESCRIPT = (
    _ECMASCRIPT
    + """
[(abstract_class_declaration name: (_) @name)
 (interface_declaration name: (_) @name)
 (enum_declaration name: (_) @name)
 (internal_module name: (_) @name)
 (module name: (_) @name)
 (function_signature name: (_) @name)] @definition
[(type_alias_declaration name: (_) @name)
 (public_field_definition name: (_) @name value: (arrow_function))] @binding
"""
)

_JAVA = """
[(class_declaration name: (_) @name)
 (interface_declaration name: (_) @name)
 (enum_declaration name: (_) @name)
 (record_declaration name: (_) @name)
 (annotation_type_declaration name: (_) @name)
 (method_declaration name: (_) @name)
 (constructor_declaration name: (_) @name)
 (compact_constructor_declaration name: (_) @name)] @definition
[(line_comment) (block_comment)] @lead
"""

_C = """
(function_definition declarator: [
  (function_declarator declarator: (_) @name)
  (pointer_declarator declarator: (function_declarator declarator: (_) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))
]) @definition
[(struct_specifier name: (_) @name body: (_))
 (union_specifier name: (_) @name body: (_))
 (enum_specifier name: (_) @name body: (_))
 (type_definition type: [
    (struct_specifier !name body: (_)) (union_specifier !name body: (_)) (enum_specifier !name body: (_))
  ] declarator: (type_identifier) @name)
 (preproc_function_def name: (_) @name)] @binding
(translation_unit (declaration declarator: (init_declarator
  declarator: [(identifier) @name (array_declarator declarator: (identifier) @name)])) @binding)
(comment) @lead
"""

_CPP = (
    _C
    + """
(function_definition declarator: [
  (reference_declarator (function_declarator declarator: (_) @name))
  (operator_cast type: (_) @name)
]) @definition
[(class_specifier name: (_) @name body: (_))
 (namespace_definition name: (_) @name body: (_))
 (concept_definition name: (_) @name)] @definition
["template" (template_parameter_list) (requires_clause)] @lead
"""
)

_CSHARP = """
[(namespace_declaration name: (_) @name)
 (class_declaration name: (_) @name)
 (struct_declaration name: (_) @name)
 (interface_declaration name: (_) @name)
 (enum_declaration name: (_) @name)
 (record_declaration name: (_) @name)
 (method_declaration name: (_) @name)
 (constructor_declaration name: (_) @name)
 (local_function_statement name: (_) @name)] @definition
[(property_declaration name: (_) @name) (operator_declaration operator: (_) @name)] @binding
(comment) @lead
"""

_GO = """
(function_declaration name: (_) @name) @definition
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (_) @owner)
    (pointer_type (type_identifier) @owner)
    (pointer_type (generic_type type: (_) @owner))]))
  name: (_) @name) @definition
[(type_spec name: (_) @name) (type_alias name: (_) @name)] @binding
(source_file (var_declaration (var_spec name: (identifier) @name)) @binding)
(comment) @lead
"""

_RUST = """
[(function_item name: (_) @name)
 (struct_item name: (_) @name)
 (enum_item name: (_) @name)
 (union_item name: (_) @name)
 (trait_item name: (_) @name)
 (mod_item name: (_) @name body: (_))
 (macro_definition name: (_) @name)
 (impl_item !trait type: (_) @name)
 (impl_item trait: (_) @name "for" @name type: (_) @name)] @definition
[(const_item name: (_) @name) (static_item name: (_) @name) (type_item name: (_) @name)] @binding
[(line_comment) (block_comment) (attribute_item)] @lead
"""

_RUBY = """
[(class name: (_) @name)
 (module name: (_) @name)
 (method name: (_) @name)
 (singleton_method name: (_) @name)] @definition
(assignment left: (constant) @name) @binding
(comment) @lead
"""

_PHP = """
[(namespace_definition name: (_) @name body: (_))
 (class_declaration name: (_) @name)
 (interface_declaration name: (_) @name)
 (trait_declaration name: (_) @name)
 (enum_declaration name: (_) @name)
 (function_definition name: (_) @name)
 (method_declaration name: (_) @name)] @definition
(comment) @lead
"""

_BASH = """
(function_definition name: (_) @name) @definition
(comment) @lead
"""

_SCALA = """
[(class_definition name: (_) @name)
 (object_definition name: (_) @name)
 (package_object name: (_) @name)
 (trait_definition name: (_) @name)
 (enum_definition name: (_) @name)
 (function_definition name: (_) @name)] @definition
[(given_definition name: (_) @name) (type_definition name: (_) @name)] @binding
(template_body (val_definition pattern: (identifier) @name) @binding)
[(comment) (block_comment)] @lead
"""

_KOTLIN = """
[(class_declaration name: (_) @name)
 (object_declaration name: (_) @name)
 (companion_object "companion" @name)
 (function_declaration name: (_) @name)
 (secondary_constructor "constructor" @name)] @definition
(source_file (property_declaration (variable_declaration (identifier) @name)) @binding)
(class_body (property_declaration (variable_declaration (identifier) @name)) @binding)
[(line_comment) (block_comment) (annotation) (annotated_expression)] @lead
"""

_SWIFT = """
[(class_declaration name: (_) @name)
 (protocol_declaration name: (_) @name)
 (function_declaration name: (_) @name)
 (init_declaration "init" @name)
 (deinit_declaration "deinit" @name)
 (subscript_declaration "subscript" @name)] @definition
(source_file (property_declaration name: (pattern) @name) @binding)
(class_body (property_declaration name: (pattern) @name) @binding)
[(comment) (multiline_comment)] @lead
"""

_LUA = """
(function_declaration name: (_) @name) @definition
[(assignment_statement (variable_list name: (_) @name) (expression_list value: (function_definition)))
 (field name: (_) @name value: (function_definition))] @binding
(chunk (variable_declaration (assignment_statement (variable_list name: (_) @name))) @binding)
(comment) @lead
"""

_HASKELL = """
(declarations [
  (signature name: (_) @name)
  (function name: (_) @name)
  (bind name: (_) @name)
  (data_type name: (_) @name)
  (newtype name: (_) @name)
  (type_synonym name: (_) @name)
  (class name: (_) @name)
  (instance name: (_) @name patterns: (_) @name)] @definition)
[(class_declarations [(signature name: (_) @name) (function name: (_) @name) (bind name: (_) @name)] @definition)
 (instance_declarations [(function name: (_) @name) (bind name: (_) @name)] @definition)]
[(comment) (haddock)] @lead
"""

_ELIXIR = """
((call target: (identifier) @_keyword (arguments . (alias) @name)) @definition
 (#any-of? @_keyword "defmodule" "defprotocol" "defimpl"))
((call target: (identifier) @_keyword (arguments . [
   (identifier) @name
   (call target: (identifier) @name)
   (binary_operator left: (call target: (identifier) @name) operator: "when")])) @definition
 (#any-of? @_keyword "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defn" "defnp"))
((call target: (identifier) @_keyword (arguments . (string) @name)) @binding
 (#any-of? @_keyword "test" "describe"))
(comment) @lead
((unary_operator operator: "@" operand: (call target: (identifier) @_attribute)) @lead
 (#any-of? @_attribute "doc" "spec" "impl" "typedoc" "since" "deprecated" "tag"))
"""

_ZIG = """
(function_declaration name: (_) @name) @definition
(variable_declaration
  (identifier) @name [(struct_declaration) (enum_declaration) (union_declaration) (opaque_declaration)]) @definition
(test_declaration [(string) (identifier)] @name) @definition
(comment) @lead
"""

_POWERSHELL = """
[(function_statement (function_name) @name)
 (class_statement . (simple_name) @name)
 (enum_statement . (simple_name) @name)
 (class_method_definition (simple_name) @name)] @definition
(comment) @lead
"""

GRAMMARS: dict[str, Grammar] = {
    "bash": Grammar("tree_sitter_bash", _BASH),
    "c": Grammar("tree_sitter_c", _C),
    "cpp": Grammar("tree_sitter_cpp", _CPP),
    "csharp": Grammar("tree_sitter_c_sharp", _CSHARP),
    "elixir": Grammar("tree_sitter_elixir", _ELIXIR),
    "go": Grammar("tree_sitter_go", _GO),
    "haskell": Grammar("tree_sitter_haskell", _HASKELL),
    "java": Grammar("tree_sitter_java", _JAVA),
    "javascript": Grammar("tree_sitter_javascript", _JAVASCRIPT),
    "kotlin": Grammar("tree_sitter_kotlin", _KOTLIN),
    "lua": Grammar("tree_sitter_lua", _LUA),
    "php": Grammar("tree_sitter_php", _PHP, "language_php"),
    "powershell": Grammar("tree_sitter_powershell", _POWERSHELL),
    "python": Grammar("tree_sitter_python", _PYTHON),
    "ruby": Grammar("tree_sitter_ruby", _RUBY),
    "rust": Grammar("tree_sitter_rust", _RUST),
    "scala": Grammar("tree_sitter_scala", _SCALA),
    "swift": Grammar("tree_sitter_swift", _SWIFT),
    "tsx": Grammar("tree_sitter_typescript", _TYPESCRIPT, "language_tsx"),
    "typescript": Grammar("tree_sitter_typescript", _TYPESCRIPT, "language_typescript"),
    "zig": Grammar("tree_sitter_zig", _ZIG),
}
