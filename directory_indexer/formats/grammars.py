"""Programming languages whose files are split at their definitions: the grammar of each and the query for them.

A query marks the parts of a language by these captures:

`@definition`  a named thing that is a section of its own: a function, a class, a module
`@binding`     the same, if it has several lines: a constant, a callback, a type alias
`@name`        what it is called, where that is not simply its field `name`; several are joined by spaces
`@owner`       what it belongs to although it is defined elsewhere: the receiver of a Go method
`@lead`        a comment or attribute, which belongs to the definition that follows it directly

The `tags.scm` inside the wheels cannot replace them: a third of the wheels have none, and most of the others mark only
a part of a definition (in C its declarator), or names rather than definitions.
"""

from __future__ import annotations

from typing import NamedTuple


class Grammar(NamedTuple):
    """The module of a grammar's wheel, the query for its definitions, and the function that returns the language."""

    module: str
    query: str
    function: str = "language"


_PYTHON = """
[(function_definition) (class_definition)] @definition
(module (expression_statement (assignment left: (identifier) @name)) @binding)
[(comment) (decorator)] @lead
"""

_ECMASCRIPT = """
[(function_declaration) (generator_function_declaration) (class_declaration) (method_definition)] @definition
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
[(abstract_class_declaration) (interface_declaration) (enum_declaration) (internal_module) (module)
 (function_signature)] @definition
[(type_alias_declaration) (public_field_definition value: (arrow_function))] @binding
"""
)

_JAVA = """
[(class_declaration) (interface_declaration) (enum_declaration) (record_declaration) (annotation_type_declaration)
 (method_declaration) (constructor_declaration) (compact_constructor_declaration)] @definition
[(line_comment) (block_comment)] @lead
"""

_C = """
(function_definition declarator: [
  (function_declarator declarator: (_) @name)
  (pointer_declarator declarator: (function_declarator declarator: (_) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))
]) @definition
[(struct_specifier name: (_) body: (_))
 (union_specifier name: (_) body: (_))
 (enum_specifier name: (_) body: (_))
 (type_definition type: [
    (struct_specifier !name body: (_)) (union_specifier !name body: (_)) (enum_specifier !name body: (_))
  ] declarator: (type_identifier) @name)
 (preproc_function_def)] @binding
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
[(class_specifier name: (_) body: (_)) (namespace_definition name: (_) body: (_)) (concept_definition)] @definition
["template" (template_parameter_list) (requires_clause)] @lead
"""
)

_CSHARP = """
[(namespace_declaration) (class_declaration) (struct_declaration) (interface_declaration) (enum_declaration)
 (record_declaration) (method_declaration) (constructor_declaration) (local_function_statement)] @definition
[(property_declaration) (operator_declaration operator: (_) @name)] @binding
(comment) @lead
"""

_GO = """
(function_declaration) @definition
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (_) @owner)
    (pointer_type (type_identifier) @owner)
    (pointer_type (generic_type type: (_) @owner))]))
  name: (_) @name) @definition
[(type_spec) (type_alias)] @binding
(source_file (var_declaration (var_spec name: (identifier) @name)) @binding)
(comment) @lead
"""

_RUST = """
[(function_item) (struct_item) (enum_item) (union_item) (trait_item) (macro_definition)
 (mod_item name: (_) body: (_))
 (impl_item !trait type: (_) @name)
 (impl_item trait: (_) @name "for" @name type: (_) @name)] @definition
[(const_item) (static_item) (type_item)] @binding
[(line_comment) (block_comment) (attribute_item)] @lead
"""

_RUBY = """
[(class) (module) (method) (singleton_method)] @definition
(assignment left: (constant) @name) @binding
(comment) @lead
"""

_PHP = """
[(namespace_definition name: (_) body: (_)) (class_declaration) (interface_declaration) (trait_declaration)
 (enum_declaration) (function_definition) (method_declaration)] @definition
(comment) @lead
"""

_BASH = """
(function_definition) @definition
(comment) @lead
"""

_SCALA = """
[(class_definition) (object_definition) (package_object) (trait_definition) (enum_definition)
 (function_definition)] @definition
[(given_definition) (type_definition)] @binding
(template_body (val_definition pattern: (identifier) @name) @binding)
[(comment) (block_comment)] @lead
"""

_KOTLIN = """
[(class_declaration) (object_declaration) (function_declaration)
 (companion_object "companion" @name)
 (secondary_constructor "constructor" @name)] @definition
(source_file (property_declaration (variable_declaration (identifier) @name)) @binding)
(class_body (property_declaration (variable_declaration (identifier) @name)) @binding)
[(line_comment) (block_comment) (annotation) (annotated_expression)] @lead
"""

_SWIFT = """
[(class_declaration) (protocol_declaration) (function_declaration)
 (init_declaration "init" @name)
 (deinit_declaration "deinit" @name)
 (subscript_declaration "subscript" @name)] @definition
(source_file (property_declaration name: (pattern) @name) @binding)
(class_body (property_declaration name: (pattern) @name) @binding)
[(comment) (multiline_comment)] @lead
"""

_LUA = """
(function_declaration) @definition
[(assignment_statement (variable_list name: (_) @name) (expression_list value: (function_definition)))
 (field value: (function_definition))] @binding
(chunk (variable_declaration (assignment_statement (variable_list name: (_) @name))) @binding)
(comment) @lead
"""

_HASKELL = """
(declarations [
  (signature) (function) (bind) (data_type) (newtype) (type_synonym) (class)
  (instance name: (_) @name patterns: (_) @name)] @definition)
[(class_declarations [(signature) (function) (bind)] @definition)
 (instance_declarations [(function) (bind)] @definition)]
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
(function_declaration) @definition
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
