// What others can use without Dragoman: src/jinja and src/grammar as packages of their own, with the version of this one.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { capture, fail, npm, root } from './commands.mjs'

export const libraries = {
  jinja: {
    description:
      'Renders chat templates of language models as Python does: jinja2 in the environment of transformers, sandboxed.',
    keywords: ['jinja', 'jinja2', 'chat-template', 'transformers', 'llm', 'prompt'],
  },
  grammar: {
    description: 'Compiles JSON Schema, regular expressions and Lark to GBNF, the grammars of llama.cpp, and runs grammars.',
    keywords: ['gbnf', 'json-schema', 'lark', 'grammar', 'llama.cpp', 'llm', 'structured-output', 'constrained-decoding'],
  },
}

/** Packs them into the folder; the files' names. */
export function packLibraries(folder) {
  return Object.keys(libraries).map((name) => {
    const work = mkdtempSync(join(tmpdir(), 'dragoman-library-'))
    try {
      return packLibrary(name, work, folder)
    } finally {
      rmSync(work, { recursive: true })
    }
  })
}

/** From the sources, and only what the public door reaches. What would need Node.js, a package or another folder is an error of the compiler. */
function packLibrary(name, work, folder) {
  const source = join(root, 'src', name)
  const compilerOptions = {
    rootDir: source,
    outDir: join(work, 'lib'),
    noCheck: false,
    sourceMap: false,
    lib: ['es2023', 'dom'],
    types: [],
  }
  const config = {
    extends: join(root, 'tsconfig.build.json'),
    compilerOptions: { ...compilerOptions, incremental: false, tsBuildInfoFile: null },
    files: [join(source, 'index.ts')],
    include: [],
  }
  writeFileSync(join(work, 'tsconfig.json'), JSON.stringify(config))
  const compiled = capture(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', work])
  if (compiled.status !== 0) fail(`src/${name} cannot be compiled by itself:\n${compiled.output}`)
  writeFileSync(join(work, 'package.json'), JSON.stringify(manifest(name), null, 2))
  cpSync(join(source, 'README.md'), join(work, 'README.md'))
  cpSync(join(root, 'LICENSE'), join(work, 'LICENSE'))
  const { status, stdout, output } = npm(['pack', '--silent', '--pack-destination', folder], { cwd: work })
  if (status !== 0) fail(`npm pack failed:\n${output}`)
  return stdout.trim()
}

function manifest(name) {
  const { version, license, engines, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    name: `dragoman-${name}`,
    version,
    ...libraries[name],
    license,
    // A release knows it. The links of the README start from the folder.
    ...(repository !== undefined && { repository: { ...repository, directory: `src/${name}` } }),
    type: 'module',
    sideEffects: false,
    exports: { '.': { types: './lib/index.d.ts', default: './lib/index.js' } },
    engines,
    files: ['lib'],
  }
}
