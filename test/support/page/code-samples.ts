import type { CodeKind } from '../../../web/src/places/chat/markdown/colour/kinds.ts'

type Sample = readonly [language: string, code: string, tokens: readonly (readonly [text: string, kind: CodeKind])[]]

/** Code in the languages that models write most, with the kinds of some of its words. */
export const codeSamples: readonly Sample[] = [
  [
    'bash',
    '# list\nfor f in *; do echo "$f"; done\n',
    [
      ['# list', 'comment'],
      ['for', 'keyword'],
    ],
  ],
  [
    'c',
    '#include <stdio.h>\nint main(void) { return 0; } /* end */\n',
    [
      ['return', 'keyword'],
      ['/* end */', 'comment'],
    ],
  ],
  [
    'c++',
    'template <class T> auto f(T x) { return x + 1.5; } // f\n',
    [
      ['template', 'keyword'],
      ['// f', 'comment'],
    ],
  ],
  [
    'cs',
    'public class A { string s = "b"; }\n',
    [
      ['public', 'keyword'],
      ['"b"', 'string'],
    ],
  ],
  [
    'css',
    'a:hover { color: #fff; } /* c */\n',
    [
      ['/* c */', 'comment'],
      ['color', 'attribute'],
    ],
  ],
  [
    'dart',
    'void main() { print("a"); } // b\n',
    [
      ['void', 'keyword'],
      ['// b', 'comment'],
    ],
  ],
  [
    'diff',
    '--- a\n+++ b\n-old\n+new\n',
    [
      ['-old', 'deletion'],
      ['+new', 'addition'],
    ],
  ],
  [
    'dockerfile',
    'FROM node:24\n# base\nRUN npm ci\n',
    [
      ['FROM', 'keyword'],
      ['# base', 'comment'],
    ],
  ],
  [
    'elixir',
    'defmodule A do\n  # b\n  def f, do: "c"\nend\n',
    [
      ['# b', 'comment'],
      ['"c"', 'string'],
    ],
  ],
  [
    'go',
    'package main\n\nfunc main() { x := "a" } // b\n',
    [
      ['func', 'keyword'],
      ['"a"', 'string'],
    ],
  ],
  [
    'graphql',
    'query { user(id: 4) { name } } # c\n',
    [
      ['query', 'keyword'],
      ['# c', 'comment'],
    ],
  ],
  [
    'haskell',
    'main :: IO ()\nmain = putStrLn "a" -- b\n',
    [
      ['"a"', 'string'],
      ['-- b', 'comment'],
    ],
  ],
  [
    'html',
    '<p class="a">b</p><script>let c = 1</script><!-- d -->\n',
    [
      ['let', 'keyword'],
      ['<!-- d -->', 'comment'],
    ],
  ],
  [
    'java',
    'class A { private int b = 3; /* c */ }\n',
    [
      ['private', 'keyword'],
      ['3', 'number'],
    ],
  ],
  [
    'js',
    'const a = `b` + c(1) // e\n',
    [
      ['const', 'keyword'],
      ['// e', 'comment'],
      ['1', 'number'],
    ],
  ],
  [
    'json',
    '{"a": [1, true, "b"]}\n',
    [
      ['"a"', 'attribute'],
      ['"b"', 'string'],
      ['1', 'number'],
    ],
  ],
  [
    'kotlin',
    'fun main() { val a = "b" } // c\n',
    [
      ['fun', 'keyword'],
      ['"b"', 'string'],
    ],
  ],
  [
    'lua',
    'local a = "b" -- c\n',
    [
      ['local', 'keyword'],
      ['-- c', 'comment'],
    ],
  ],
  ['makefile', 'all: a.o\n\tcc -o all a.o # b\n', [['# b', 'comment']]],
  [
    'markdown',
    '# Head\n\n*a* and `b`\n',
    [
      ['# Head', 'title'],
      ['`b`', 'string'],
    ],
  ],
  [
    'matlab',
    "a = [1 2]; % b\nif a, disp('c'), end\n",
    [
      ['% b', 'comment'],
      ["'c'", 'string'],
    ],
  ],
  ['objc', '@interface A : NSObject\n@property int b; // c\n@end\n', [['// c', 'comment']]],
  [
    'perl',
    'my $a = "b"; # c\n',
    [
      ['my', 'keyword'],
      ['# c', 'comment'],
    ],
  ],
  [
    'php',
    '<?php function f() { return "a"; } // b\n',
    [
      ['function', 'keyword'],
      ['// b', 'comment'],
    ],
  ],
  ['powershell', 'Get-ChildItem | Where-Object { $_.Length -gt 1 } # b\n', [['# b', 'comment']]],
  [
    'python',
    'def f(a: int) -> str:\n    """doc"""\n    return f"{a}" # b\n',
    [
      ['def', 'keyword'],
      ['# b', 'comment'],
    ],
  ],
  [
    'r',
    'f <- function(x) x + 1 # a\n',
    [
      ['function', 'keyword'],
      ['# a', 'comment'],
    ],
  ],
  [
    'ruby',
    'def f(a)\n  "b" # c\nend\n',
    [
      ['def', 'keyword'],
      ['"b"', 'string'],
      ['# c', 'comment'],
    ],
  ],
  [
    'rust',
    'fn main() { let a = r#"b"#; } /* c /* d */ e */\n',
    [
      ['fn', 'keyword'],
      ['/* c /* d */ e */', 'comment'],
    ],
  ],
  [
    'scala',
    'object A { def f = "b" } // c\n',
    [
      ['object', 'keyword'],
      ['// c', 'comment'],
    ],
  ],
  [
    'sql',
    "SELECT a FROM b WHERE c = 'd'; -- e\n",
    [
      ['SELECT', 'keyword'],
      ["'d'", 'string'],
      ['-- e', 'comment'],
    ],
  ],
  [
    'swift',
    'let a = "b" // c\n',
    [
      ['let', 'keyword'],
      ['"b"', 'string'],
    ],
  ],
  [
    'toml',
    '[a]\nb = "c" # d\n',
    [
      ['"c"', 'string'],
      ['# d', 'comment'],
    ],
  ],
  [
    'tsx',
    'const A = ({ b }: P) => <p title="c">{b}</p> // d\n',
    [
      ['const', 'keyword'],
      ['// d', 'comment'],
    ],
  ],
  [
    'ts',
    'interface A { readonly b: string } // c\n',
    [
      ['interface', 'keyword'],
      ['// c', 'comment'],
    ],
  ],
  [
    'yaml',
    'a: "b" # c\nd: 3\n',
    [
      ['a:', 'attribute'],
      ['"b"', 'string'],
      ['# c', 'comment'],
    ],
  ],
]
