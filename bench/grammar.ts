import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { median } from './report/report.ts'

/**
 * What compiling a set of tool schemas costs: the first time in a process, which is what a worker's first request with tools
 * waits for; when the code is warm; and from the cache. Built code, as users run it, and CPU time, because the machine is shared.
 *
 *   npm run bench:grammar
 */

const coldRuns = 9
const warmRuns = 30
const sizes = [50_000, 200_000, 800_000]

const built = (name: string): string => new URL(`../dist/grammar/${name}.js`, import.meta.url).href
const { createGrammarBuilder } = (await import(built('grammar-builder'))) as typeof import('../src/grammar/grammar-builder.ts')
const { createGrammarCache } = (await import(built('grammar-cache'))) as typeof import('../src/grammar/grammar-cache.ts')

/** A property as agents declare them, chosen by its index. `distinct`: all differ. */
function property(index: number, distinct: boolean): object {
  const own = kindOfProperty(index)
  return distinct ? { ...own, ...('type' in own && own.type === 'string' && { maxLength: 1000 + index }) } : own
}

function kindOfProperty(index: number): object {
  const description = `What the caller wants of part ${index}; one sentence about it, as tools have them.`
  const kinds: readonly object[] = [
    { type: 'string', description },
    { type: 'string', description, enum: ['content', 'files_with_matches', 'count'] },
    { type: 'integer', description, minimum: 0, maximum: 9007199254740991 },
    { type: 'boolean', description, default: false },
    { type: 'array', description, items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: 20 },
    { type: 'string', description, pattern: '^[A-Za-z0-9_-]{1,64}$' },
    { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }], description },
    { type: 'number', description, exclusiveMinimum: 0, maximum: 100 },
    {
      type: 'array',
      items: {
        type: 'object',
        properties: { id: { type: 'string' }, content: { type: 'string', description }, status: { enum: ['pending', 'done'] } },
        required: ['id', 'content'],
        additionalProperties: false,
      },
    },
    { type: 'object', description, additionalProperties: { type: 'string' } },
  ]
  return kinds[index % kinds.length] ?? {}
}

/** Tools whose schemas have `bytes` of JSON in total. */
function tools(bytes: number, distinct = false): object[] {
  const made: object[] = []
  for (let size = 0; size < bytes; size += JSON.stringify(made.at(-1)).length) {
    const first = made.length * 7
    const names = Array.from({ length: 7 }, (_, index) => `parameter_${first + index}`)
    made.push({
      type: 'object',
      properties: Object.fromEntries(names.map((name, index) => [name, property(first + index, distinct)])),
      required: names.slice(0, 3),
      additionalProperties: false,
    })
  }
  return made
}

function compile(schemas: readonly object[]) {
  const builder = createGrammarBuilder()
  const rules = schemas.map((schema, index) => builder.addSchema(schema, { name: `tool-${index}` }))
  return builder.build(rules.join(' | '))
}

function cpuMs(run: () => unknown): number {
  const start = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/** The first compilation of a fresh process. */
function cold(distinct: boolean): Promise<number> {
  const child = fork(fileURLToPath(import.meta.url), [distinct ? 'distinct' : 'alike'], { execArgv: ['--import', 'tsx'] })
  return new Promise((resolve) => child.once('message', (ms) => resolve(Number(ms))))
}

const rounded = (ms: number): number => Number(ms.toFixed(1))

async function report(): Promise<void> {
  const samples = { alike: [] as number[], distinct: [] as number[] }
  for (let run = 0; run < coldRuns; run++) {
    samples.alike.push(await cold(false))
    samples.distinct.push(await cold(true))
  }
  const schemas = tools(50_000)
  const warm = Array.from({ length: warmRuns }, () => cpuMs(() => compile(schemas)))
  const cache = createGrammarCache()
  cache.find(schemas, () => compile(schemas))
  const cached = Array.from({ length: warmRuns }, () => cpuMs(() => cache.find(schemas, () => compile(schemas))))
  const bySize = sizes.map((bytes) => {
    const set = tools(bytes, true)
    return [`${bytes / 1000} KB`, rounded(median([1, 2, 3].map(() => cpuMs(() => compile(set)))))]
  })
  const { grammar } = compile(schemas)
  console.log(
    JSON.stringify({
      schemaBytes: JSON.stringify(schemas).length,
      tools: schemas.length,
      grammarChars: grammar.length,
      rules: grammar.split('\n').length - 1,
      coldMs: rounded(median(samples.alike)),
      coldDistinctMs: rounded(median(samples.distinct)),
      warmMs: rounded(median(warm)),
      cachedMs: Number(median(cached).toFixed(2)),
      warmDistinctMs: Object.fromEntries(bySize),
    }),
  )
}

const [role] = process.argv.slice(2)
if (role === undefined) await report()
else {
  const schemas = tools(50_000, role === 'distinct')
  process.send?.(cpuMs(() => compile(schemas)))
}
