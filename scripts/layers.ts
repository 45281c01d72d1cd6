// Checks which folder of src imports which, and that no files or folders import each other in a circle (type imports included).
// `npm run check` runs it; test/layers.test.ts proves each rule by breaking it.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const modelText = ['model-text', 'model-text/formats', 'model-text/parse', 'model-text/template']
const forEngines = ['contract', 'engine/shared', 'threads', ...modelText]
const forDialects = ['contract', 'dialect/wire', 'dialect/openai']

/**
 * An allow-list: a folder of src, and the folders besides itself that its files may import. The longest matching path decides. A folder
 * that is not listed may import nothing and be imported by nothing.
 */
export const allowed: Readonly<Record<string, readonly string[]>> = {
  '.': ['app', 'config', 'contract'],
  contract: [],
  jinja: [],
  'grammar/rules': [],
  'grammar/regex': ['grammar/rules'],
  'grammar/lark': ['grammar/regex', 'grammar/rules'],
  'grammar/schema': ['grammar/regex', 'grammar/rules'],
  'grammar/run': ['grammar/regex', 'grammar/rules'],
  grammar: ['grammar/*'],
  'model-text': ['contract', 'model-text/formats', 'model-text/template'],
  'model-text/scan': ['contract'],
  'model-text/formats': ['contract', 'model-text/scan'],
  'model-text/parse': ['contract', 'model-text/formats', 'model-text/scan'],
  'model-text/template': ['contract', 'jinja', 'model-text/formats'],
  threads: ['contract', 'grammar', 'grammar/*', 'model-text/template'],
  core: ['contract', 'model-text/parse', 'core/checks', 'core/custom-tools', 'core/media', 'core/prefix'],
  'core/cancel': ['contract'],
  'core/checks': ['contract', 'core/custom-tools'],
  'core/custom-tools': ['contract'],
  'core/media': ['contract'],
  'core/prefix': ['contract'],
  'core/presets': ['contract'],
  'core/schedule': ['contract'],
  'core/uses': ['contract', 'core', 'core/custom-tools', 'core/media'],
  'dialect/wire': ['contract'],
  'dialect/openai': ['contract', 'dialect/wire'],
  'dialect/openai-chat': forDialects,
  'dialect/openai-completions': forDialects,
  'dialect/openai-embeddings': forDialects,
  'dialect/openai-responses': forDialects,
  'dialect/anthropic': ['contract', 'dialect/wire'],
  'dialect/llama-stack': ['contract', 'dialect/wire'],
  'dialect/presets': forDialects,
  'dialect/scoring': ['contract', 'dialect/wire'],
  'dialect/tabby': forDialects,
  'dialect/templates': forDialects,
  'dialect/tokens': ['contract', 'dialect/wire'],
  'dialect/unsloth': forDialects,
  'engine/shared': ['contract'],
  'engine/supervise': ['contract', 'engine/shared'],
  'engine/fake': forEngines,
  // What comes before a constrained answer.
  'engine/front': ['contract', 'grammar/rules', 'model-text', 'model-text/formats'],
  'engine/llama': [...forEngines, 'engine/supervise', 'engine/llama/channel', 'engine/llama/constraint'],
  'engine/llama/channel': ['contract', 'grammar/run'],
  'engine/llama/constraint': [...forEngines, 'grammar', 'grammar/run', 'engine/front', 'engine/llama/channel'],
  'engine/llama/worker/context': ['contract', 'engine/llama/channel'],
  'engine/llama/worker/rounds': ['contract'],
  'engine/llama/worker/slots': ['contract', 'engine/llama/channel', 'engine/llama/worker/context', 'engine/llama/worker/rounds'],
  'engine/llama/worker/embed': ['contract', 'engine/llama/worker/context', 'engine/llama/worker/rounds'],
  'engine/llama/worker/sampling': [
    'contract',
    'threads',
    'grammar/run',
    'engine/shared',
    'engine/llama/channel',
    'engine/llama/worker/context',
    'engine/llama/worker/rounds',
    'engine/llama/worker/slots',
  ],
  'engine/llama/worker/model': [
    'contract',
    'model-text',
    'model-text/template',
    'engine/shared',
    'engine/llama/channel',
    'engine/llama/worker/context',
    'engine/llama/worker/embed',
    'engine/llama/worker/rounds',
    'engine/llama/worker/sampling',
    'engine/llama/worker/slots',
  ],
  'engine/llama/worker/prompt': [
    'contract',
    'model-text',
    'model-text/template',
    'engine/front',
    'engine/shared',
    'engine/llama/channel',
    'engine/llama/worker/model',
  ],
  'engine/llama/worker/answers': [
    'contract',
    'model-text/parse',
    'grammar/run',
    'engine/shared',
    'engine/llama/channel',
    'engine/llama/worker/context',
    'engine/llama/worker/model',
    'engine/llama/worker/rounds',
    'engine/llama/worker/sampling',
    'engine/llama/worker/slots',
  ],
  'engine/llama/worker': ['contract', 'engine/llama/channel', 'engine/llama/worker/*'],
  'engine/llama-server': ['contract', 'engine/shared', 'engine/supervise'],
  'engine/remote': [...forEngines, 'engine/front', 'engine/remote/*'],
  'engine/remote/transport': ['contract', 'engine/shared'],
  'engine/remote/servers': [
    'contract',
    'engine/shared',
    'engine/front',
    'threads',
    'model-text/template',
    'engine/remote/transport',
  ],
  'engine/remote/wire': [...forEngines, 'grammar', 'engine/front', 'engine/remote/transport', 'engine/remote/servers'],
  'engine/remote/fleet': ['contract', 'engine/shared', 'engine/remote/transport', 'engine/remote/servers'],
  store: ['contract', 'threads'],
  responses: ['contract', 'core', 'core/cancel', 'core/uses', 'dialect/openai-responses'],
  media: ['contract'],
  quota: ['contract'],
  residency: ['contract'],
  workers: ['contract'],
  'media/convert': ['contract'],
  registry: ['contract'],
  config: ['contract', 'registry', 'media', 'model-text/formats'],
  lifecycle: ['contract', 'config', 'jinja', 'registry'],
  'http/body': ['contract', 'dialect/wire'],
  'http/access': ['contract'],
  'http/reply': ['contract', 'core', 'core/cancel', 'dialect/openai', 'dialect/wire', 'http/body'],
  'http/run': ['contract', 'core', 'core/*', 'dialect/*', 'http/access', 'http/body', 'http/reply'],
  'http/responses': ['contract', 'dialect/*', 'responses', 'http/access', 'http/body', 'http/reply', 'http/run'],
  'http/routes': [
    'contract',
    'core/uses',
    'dialect/*',
    'responses',
    'http/access',
    'http/body',
    'http/reply',
    'http/responses',
    'http/run',
  ],
  'http/unknown': ['contract'],
  http: ['contract', 'dialect/*', 'responses', 'http/*'],
  app: [
    'contract',
    'core',
    'core/*',
    'dialect/presets',
    'engine/*',
    'registry',
    'config',
    'http',
    'http/access',
    'http/run',
    'lifecycle',
    'media',
    'media/convert',
    'quota',
    'residency',
    'store',
    'threads',
    'workers',
  ],
  cli: ['contract', 'app', 'config', 'engine/llama', 'registry', 'http', 'http/access', 'http/run', 'quota', 'workers'],
}

/** Folders that run anywhere: no `node:` module, no package. */
export const pure = ['contract', 'jinja']

/** The folder of the list that a file belongs to; undefined for none. */
function roomOf(file: string): string | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (Object.hasOwn(allowed, folder)) return folder
    if (folder === '.') return undefined
  }
}

export function mayImport(room: string, other: string): boolean {
  if (room === other) return true
  return (allowed[room] ?? []).some((name) => (name.endsWith('/*') ? other.startsWith(name.slice(0, -1)) : name === other))
}

/** Each file below src, and what it imports: files below src, `node:` modules, packages. */
export type Imports = ReadonlyMap<string, readonly string[]>

/** What breaks the rules, in words. */
export function findViolations(imports: Imports): string[] {
  const violations: string[] = []
  for (const [file, targets] of imports) {
    const room = roomOf(file)
    if (room === undefined || (room === '.' && file !== 'index.ts')) {
      violations.push(`${file}: its folder is not listed in scripts/layers.ts`)
      continue
    }
    for (const target of targets) {
      if (imports.has(target)) {
        const other = roomOf(target)
        if (other === undefined || other === '.' || !mayImport(room, other))
          violations.push(`${file}: ${room} may not import ${target}`)
      } else if (pure.includes(room)) {
        violations.push(`${file}: ${room} may not import ${target}: it imports no packages and no node: modules`)
      }
    }
  }
  const folders = new Map<string, Set<string>>()
  for (const [file, targets] of imports) {
    const known = folders.get(dirname(file)) ?? new Set<string>()
    for (const target of targets) if (imports.has(target)) known.add(dirname(target))
    folders.set(dirname(file), known)
  }
  for (const circle of [...findCircles(imports), ...findCircles(folders)]) violations.push(`circle: ${circle.join(', ')}`)
  return violations
}

/** Sets of nodes that reach each other (Tarjan's algorithm). */
function findCircles(edges: ReadonlyMap<string, Iterable<string>>): string[][] {
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const lower = (node: string, value: number) => low.set(node, Math.min(low.get(node) ?? value, value))
  const visit = (node: string): void => {
    const own = index.size
    index.set(node, own)
    lower(node, own)
    stack.push(node)
    for (const next of edges.get(node) ?? []) {
      if (next === node || !edges.has(next)) continue
      if (!index.has(next)) visit(next)
      if (stack.includes(next)) lower(node, low.get(next) ?? own)
    }
    if (low.get(node) !== own) return
    const circle = stack.splice(stack.indexOf(node))
    if (circle.length > 1) circles.push(circle.sort())
  }
  for (const node of edges.keys()) if (!index.has(node)) visit(node)
  return circles
}

/** As the formatter writes them: on one line, or with the closing brace at the start of the last. */
const importPattern = /^(?:import|export) .*? from '([^']+)'$|^} from '([^']+)'$|^import '([^']+)'$/gm

/** Each product file below src, and what it imports. */
export function readImports(root: string): Imports {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  )
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(root, file), 'utf8')
      const specifiers = [...text.matchAll(importPattern)].map(([, one, other, third]) => one ?? other ?? third ?? '')
      return [file, specifiers.map((name) => (name.startsWith('.') ? normalize(join(dirname(file), name)) : name))]
    }),
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const violations = findViolations(readImports(fileURLToPath(new URL('../src', import.meta.url))))
  for (const violation of violations) console.error(violation)
  process.exit(violations.length > 0 ? 1 : 0)
}
