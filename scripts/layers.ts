// Checks which folder of src imports which, and that no files or folders import each other in a circle (type imports included).
// `npm run check` runs it; test/layers.test.ts proves each rule by breaking it.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const modelText = ['model-text', 'model-text/formats', 'model-text/parse', 'model-text/template']
/** What everybody may import: tools that know nothing, the contract, and questions about what it describes. */
const ground = ['base', 'contract', 'canonical']
const forEngines = [...ground, 'engine/shared', 'threads', ...modelText]
const forDialects = [...ground, 'dialect/wire', 'dialect/openai']

/**
 * An allow-list: a folder of src, and the folders besides itself that its files may import. The longest matching path decides. A folder
 * that is not listed may import nothing and be imported by nothing.
 */
export const allowed: Readonly<Record<string, readonly string[]>> = {
  '.': ['app', 'check', 'config', 'dialect/library', 'engine/fake', ...ground],
  base: [],
  contract: ['base'],
  canonical: ['base', 'contract'],
  'jinja/values': [],
  'jinja/syntax': ['jinja/values'],
  'jinja/texts': ['jinja/values'],
  'jinja/operations': ['jinja/syntax', 'jinja/texts', 'jinja/values'],
  'jinja/filters': ['jinja/operations', 'jinja/syntax', 'jinja/texts', 'jinja/values'],
  jinja: ['jinja/*'],
  'grammar/rules': [],
  'grammar/regex': ['grammar/rules'],
  'grammar/lark': ['grammar/regex', 'grammar/rules'],
  'grammar/schema': ['grammar/regex', 'grammar/rules'],
  'grammar/run': ['grammar/regex', 'grammar/rules'],
  grammar: ['grammar/*'],
  'model-text': [...ground, 'model-text/formats', 'model-text/template'],
  'model-text/scan': ground,
  'model-text/formats': [...ground, 'model-text/scan'],
  'model-text/parse': [...ground, 'model-text/formats', 'model-text/scan'],
  'model-text/template': [...ground, 'jinja', 'jinja/texts', 'jinja/values', 'model-text/formats'],
  bundles: [],
  threads: [...ground, 'grammar', 'grammar/*', 'model-text/template'],
  core: [...ground, 'model-text/parse', 'core/checks', 'core/custom-tools', 'core/media', 'core/prefix', 'core/templates'],
  'core/cancel': ground,
  'core/checks': [...ground, 'core/custom-tools'],
  'core/custom-tools': ground,
  'core/media': ground,
  'core/prefix': ground,
  'core/presets': ground,
  'core/schedule': ground,
  'core/templates': ground,
  'core/tool-loop': [...ground, 'core'],
  'core/uses': [...ground, 'core', 'core/custom-tools', 'core/media', 'core/templates', 'core/tool-loop'],
  'dialect/wire': ground,
  'dialect/openai': [...ground, 'dialect/wire'],
  'dialect/ollama': forDialects,
  'dialect/openai-chat': forDialects,
  'dialect/openai-completions': forDialects,
  'dialect/openai-decisions': [...forDialects, 'dialect/openai-responses'],
  'dialect/openai-embeddings': forDialects,
  'dialect/openai-responses': forDialects,
  'dialect/openai-transcriptions': forDialects,
  'dialect/anthropic': [...ground, 'dialect/wire'],
  'dialect/kobold': [...forDialects, 'dialect/openai-completions'],
  'dialect/library': [...ground, 'dialect/wire', 'registry/names'],
  'dialect/llama-server': [...forDialects, 'dialect/openai-completions'],
  'dialect/llama-stack': [...ground, 'dialect/scoring', 'dialect/wire'],
  'dialect/lm-studio': forDialects,
  'dialect/lm-studio-sdk': [...forDialects, 'dialect/lm-studio', 'dialect/openai-chat', 'dialect/openai-completions'],
  'dialect/mcp': [...forDialects, 'dialect/own'],
  'dialect/mlc': forDialects,
  'dialect/own': [...ground, 'dialect/wire'],
  'dialect/presets': forDialects,
  'dialect/replicas': [...ground, 'dialect/wire'],
  'dialect/scoring': [...ground, 'dialect/wire'],
  'dialect/tabby': forDialects,
  'dialect/templates': forDialects,
  'dialect/tokens': forDialects,
  'dialect/unsloth': forDialects,
  'engine/shared': ground,
  'engine/supervise': [...ground, 'engine/shared'],
  'engine/fake': forEngines,
  // What comes before a constrained answer.
  'engine/either': [...ground, 'engine/shared'],
  'engine/front': [...ground, 'grammar/rules', 'model-text', 'model-text/formats'],
  'engine/constraint': [...forEngines, 'grammar', 'engine/front'],
  'engine/llama': [...forEngines, 'bundles', 'engine/supervise', 'engine/llama/channel', 'engine/llama/constraint'],
  'engine/llama/channel': [...ground, 'grammar/run'],
  'engine/llama/constraint': [
    ...forEngines,
    'grammar',
    'grammar/run',
    'engine/front',
    'engine/constraint',
    'engine/llama/channel',
  ],
  'engine/llama/binding': [...ground, 'threads'],
  'engine/llama/worker/context': [...ground, 'engine/llama/binding', 'engine/llama/channel'],
  'engine/llama/worker/rounds': [...ground, 'engine/llama/binding'],
  'engine/llama/worker/slots': [
    ...ground,
    'engine/llama/binding',
    'engine/llama/channel',
    'engine/llama/worker/context',
    'engine/llama/worker/rounds',
  ],
  'engine/llama/worker/senses': [
    ...ground,
    'model-text/template',
    'engine/llama/binding',
    'engine/llama/channel',
    'engine/llama/worker/rounds',
  ],
  'engine/llama/worker/embed': [...ground, 'engine/llama/binding', 'engine/llama/worker/rounds'],
  'engine/llama/worker/sampling': [
    ...ground,
    'threads',
    'grammar/run',
    'engine/shared',
    'engine/llama/binding',
    'engine/llama/channel',
    'engine/llama/worker/context',
    'engine/llama/worker/rounds',
    'engine/llama/worker/slots',
  ],
  'engine/llama/worker/model': [
    ...ground,
    'model-text',
    'model-text/template',
    'engine/shared',
    'engine/llama/binding',
    'engine/llama/channel',
    'engine/llama/worker/context',
    'engine/llama/worker/embed',
    'engine/llama/worker/rounds',
    'engine/llama/worker/sampling',
    'engine/llama/worker/senses',
    'engine/llama/worker/slots',
  ],
  'engine/llama/worker/prompt': [
    ...ground,
    'model-text',
    'model-text/template',
    'engine/front',
    'engine/shared',
    'engine/llama/binding',
    'engine/llama/channel',
    'engine/llama/worker/model',
    'engine/llama/worker/senses',
  ],
  'engine/llama/worker/answers': [
    ...ground,
    'model-text/parse',
    'grammar/run',
    'engine/shared',
    'engine/llama/binding',
    'engine/llama/channel',
    'engine/llama/worker/context',
    'engine/llama/worker/model',
    'engine/llama/worker/prompt',
    'engine/llama/worker/rounds',
    'engine/llama/worker/sampling',
    'engine/llama/worker/senses',
    'engine/llama/worker/slots',
  ],
  'engine/llama/worker': [...ground, 'engine/llama/binding', 'engine/llama/channel', 'engine/llama/worker/*'],
  'engine/llama-server': [...ground, 'engine/shared', 'engine/supervise'],
  'engine/remote': [...forEngines, 'engine/constraint', 'engine/front', 'engine/remote/*'],
  'engine/remote/transport': [...ground, 'engine/shared'],
  'engine/remote/servers': [
    ...ground,
    'engine/shared',
    'engine/front',
    'threads',
    'model-text/template',
    'engine/remote/transport',
  ],
  'engine/remote/wire': [...forEngines, 'grammar', 'engine/front', 'engine/remote/transport', 'engine/remote/servers'],
  'engine/remote/endpoints': [...ground, 'engine/remote/transport'],
  'engine/remote/fleet': [
    ...ground,
    'engine/shared',
    'engine/remote/endpoints',
    'engine/remote/transport',
    'engine/remote/servers',
  ],
  store: [...ground, 'threads'],
  responses: [...ground, 'core', 'core/cancel', 'core/tool-loop', 'core/uses', 'dialect/openai', 'dialect/openai-responses'],
  batches: ground,
  media: ground,
  'tools/mcp': [...ground, 'media'],
  'tools/sandbox': ground,
  'tools/web': [...ground, 'media', 'threads'],
  tools: [...ground, 'tools/*'],
  quota: ground,
  residency: ground,
  workers: ground,
  telemetry: ground,
  activity: ground,
  check: [...ground, 'check/probe', 'check/rows'],
  'check/probe': ground,
  'check/rows': [...ground, 'check/probe'],
  'media/convert': [...ground, 'documents'],
  // Also in the page: it knows neither Node.js nor the contract.
  documents: [],
  'registry/names': ground,
  'registry/gguf': [...ground, 'registry/names'],
  'registry/fetch': [...ground, 'registry/gguf', 'registry/names'],
  'registry/runtimes': [...ground, 'registry/fetch', 'registry/names'],
  config: [...ground, 'registry/*', 'media', 'model-text/formats'],
  lifecycle: [...ground, 'config', 'jinja', 'registry/*'],
  'http/body': [...ground, 'dialect/wire'],
  'http/access': ground,
  'http/capture': ground,
  'http/reply': [...ground, 'core', 'core/cancel', 'dialect/openai', 'dialect/wire', 'http/body'],
  'http/run': [...ground, 'batches', 'core', 'core/*', 'dialect/*', 'http/access', 'http/body', 'http/capture', 'http/reply'],
  'http/responses': [...ground, 'dialect/*', 'responses', 'http/access', 'http/body', 'http/reply', 'http/run'],
  'http/openapi': [...ground, 'dialect/*', 'http/access'],
  'http/routes': [
    ...ground,
    'batches',
    'core/templates',
    'core/uses',
    'dialect/*',
    'responses',
    'http/access',
    'http/body',
    'http/openapi',
    'http/reply',
    'http/responses',
    'http/run',
  ],
  'http/lm-studio-sdk': [
    ...ground,
    'core/*',
    'dialect/*',
    'http/access',
    'http/body',
    'http/reply',
    'http/responses',
    'http/routes',
    'http/run',
  ],
  'http/unknown': ground,
  http: [...ground, 'dialect/*', 'responses', 'http/*'],
  app: [
    ...ground,
    'activity',
    'batches',
    'core',
    'core/*',
    'dialect/library',
    'dialect/presets',
    'engine/*',
    'registry/*',
    'config',
    'http',
    'http/access',
    'http/capture',
    'http/run',
    'lifecycle',
    'media',
    'media/convert',
    'quota',
    'residency',
    'store',
    'telemetry',
    'threads',
    'tools',
    'tools/*',
    'workers',
  ],
  cli: [
    ...ground,
    'app',
    'bundles',
    'check',
    'config',
    'dialect/own',
    'engine/llama',
    'lifecycle',
    'registry/*',
    'http',
    'http/access',
    'http/run',
    'quota',
    'workers',
  ],
}

/** Folders that run anywhere: no `node:` module, no package. */
export const pure = [
  'base',
  'contract',
  'canonical',
  'jinja',
  'jinja/filters',
  'jinja/operations',
  'jinja/syntax',
  'jinja/texts',
  'jinja/values',
]

/** What the package opens. */
const doors = new Set(['index.ts', 'testing.ts'])

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
    if (room === undefined || (room === '.' && !doors.has(file))) {
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
