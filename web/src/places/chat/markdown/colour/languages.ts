import type { LanguageFn } from 'highlight.js'

type Language = {
  /** What models write after a fence; the first is the name. */
  readonly names: string
  /** Languages that may be embedded in it. */
  readonly needs?: readonly string[]
  readonly load: () => Promise<{ readonly default: LanguageFn }>
}

const languages: readonly Language[] = [
  { names: 'bash sh shell zsh console shell-session', load: () => import('highlight.js/lib/languages/bash') },
  { names: 'c h', load: () => import('highlight.js/lib/languages/c') },
  { names: 'clojure clj', load: () => import('highlight.js/lib/languages/clojure') },
  { names: 'cmake', load: () => import('highlight.js/lib/languages/cmake') },
  { names: 'cpp c++ cc cxx hpp cuda cu', load: () => import('highlight.js/lib/languages/cpp') },
  { names: 'csharp cs c#', load: () => import('highlight.js/lib/languages/csharp') },
  { names: 'css', load: () => import('highlight.js/lib/languages/css') },
  { names: 'dart', load: () => import('highlight.js/lib/languages/dart') },
  { names: 'diff patch', load: () => import('highlight.js/lib/languages/diff') },
  { names: 'dockerfile docker', needs: ['bash'], load: () => import('highlight.js/lib/languages/dockerfile') },
  { names: 'dos bat cmd batch', load: () => import('highlight.js/lib/languages/dos') },
  { names: 'elixir ex exs', load: () => import('highlight.js/lib/languages/elixir') },
  { names: 'erlang erl', load: () => import('highlight.js/lib/languages/erlang') },
  { names: 'fortran f90', load: () => import('highlight.js/lib/languages/fortran') },
  { names: 'fsharp fs f#', load: () => import('highlight.js/lib/languages/fsharp') },
  { names: 'glsl', load: () => import('highlight.js/lib/languages/glsl') },
  { names: 'go golang', load: () => import('highlight.js/lib/languages/go') },
  { names: 'graphql gql', load: () => import('highlight.js/lib/languages/graphql') },
  { names: 'groovy gradle', load: () => import('highlight.js/lib/languages/groovy') },
  { names: 'haskell hs', load: () => import('highlight.js/lib/languages/haskell') },
  { names: 'http', load: () => import('highlight.js/lib/languages/http') },
  { names: 'ini toml conf cfg properties', load: () => import('highlight.js/lib/languages/ini') },
  { names: 'java', load: () => import('highlight.js/lib/languages/java') },
  {
    names: 'javascript js jsx mjs cjs node',
    needs: ['xml', 'css'],
    load: () => import('highlight.js/lib/languages/javascript'),
  },
  { names: 'json json5 jsonc jsonl', load: () => import('highlight.js/lib/languages/json') },
  { names: 'julia jl', load: () => import('highlight.js/lib/languages/julia') },
  { names: 'kotlin kt kts', load: () => import('highlight.js/lib/languages/kotlin') },
  { names: 'latex tex', load: () => import('highlight.js/lib/languages/latex') },
  { names: 'lisp elisp common-lisp', load: () => import('highlight.js/lib/languages/lisp') },
  { names: 'lua', load: () => import('highlight.js/lib/languages/lua') },
  { names: 'makefile make mk', load: () => import('highlight.js/lib/languages/makefile') },
  { names: 'markdown md', needs: ['xml'], load: () => import('highlight.js/lib/languages/markdown') },
  { names: 'matlab octave', load: () => import('highlight.js/lib/languages/matlab') },
  { names: 'nginx', load: () => import('highlight.js/lib/languages/nginx') },
  { names: 'nix', load: () => import('highlight.js/lib/languages/nix') },
  { names: 'objectivec objc objective-c', load: () => import('highlight.js/lib/languages/objectivec') },
  { names: 'ocaml ml', load: () => import('highlight.js/lib/languages/ocaml') },
  { names: 'perl pl', load: () => import('highlight.js/lib/languages/perl') },
  { names: 'php', needs: ['xml'], load: () => import('highlight.js/lib/languages/php') },
  { names: 'powershell ps1 pwsh', load: () => import('highlight.js/lib/languages/powershell') },
  { names: 'protobuf proto', load: () => import('highlight.js/lib/languages/protobuf') },
  { names: 'python py python3 py3 ipython', load: () => import('highlight.js/lib/languages/python') },
  { names: 'r', load: () => import('highlight.js/lib/languages/r') },
  { names: 'ruby rb', load: () => import('highlight.js/lib/languages/ruby') },
  { names: 'rust rs', load: () => import('highlight.js/lib/languages/rust') },
  { names: 'scala', load: () => import('highlight.js/lib/languages/scala') },
  { names: 'scheme racket', load: () => import('highlight.js/lib/languages/scheme') },
  { names: 'scss sass less', load: () => import('highlight.js/lib/languages/scss') },
  { names: 'sql mysql postgresql postgres sqlite', load: () => import('highlight.js/lib/languages/sql') },
  { names: 'swift', load: () => import('highlight.js/lib/languages/swift') },
  { names: 'typescript ts tsx mts cts', needs: ['xml', 'css'], load: () => import('highlight.js/lib/languages/typescript') },
  { names: 'verilog systemverilog sv', load: () => import('highlight.js/lib/languages/verilog') },
  { names: 'vim viml', load: () => import('highlight.js/lib/languages/vim') },
  { names: 'wasm wat', load: () => import('highlight.js/lib/languages/wasm') },
  { names: 'x86asm asm nasm assembly', load: () => import('highlight.js/lib/languages/x86asm') },
  {
    names: 'xml html xhtml svg vue svelte astro rss',
    needs: ['javascript', 'css'],
    load: () => import('highlight.js/lib/languages/xml'),
  },
  { names: 'yaml yml', load: () => import('highlight.js/lib/languages/yaml') },
]

/** The language that models call so. */
export function findLanguage(name: string): Language | undefined {
  return languages.find(({ names }) => names.split(' ').includes(name.toLowerCase()))
}
