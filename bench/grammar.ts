import { createGrammarBuilder } from '../src/core/grammar/grammar-builder.ts'
import { createGrammarCache } from '../src/core/grammar/grammar-cache.ts'

/** A property as agents declare them; which one depends on its number only. */
function property(index: number): object {
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

/** Tools whose schemas are `bytes` of JSON together. */
function tools(bytes: number): object[] {
  const made: object[] = []
  for (let size = 0; size < bytes; size += JSON.stringify(made.at(-1)).length) {
    const first = made.length * 7
    const names = Array.from({ length: 7 }, (_, index) => `parameter_${first + index}`)
    made.push({
      type: 'object',
      properties: Object.fromEntries(names.map((name, index) => [name, property(first + index)])),
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

const schemas = tools(50_000)
const cache = createGrammarCache()
const times: number[] = []
for (let run = 0; run < 30; run++) {
  const start = process.cpuUsage()
  compile(schemas)
  times.push(process.cpuUsage(start).user / 1000)
}
const firstMs = times[0] ?? 0
const sorted = times.slice(1).sort((a, b) => a - b)
cache.find(schemas, () => compile(schemas))
const startMs = performance.now()
cache.find(schemas, () => compile(schemas))
const cachedMs = performance.now() - startMs
const { grammar } = compile(schemas)
console.log(
  JSON.stringify({
    schemaBytes: JSON.stringify(schemas).length,
    tools: schemas.length,
    grammarChars: grammar.length,
    rules: grammar.split('\n').length - 1,
    firstMs: Number(firstMs.toFixed(1)),
    medianMs: Number((sorted[14] ?? 0).toFixed(1)),
    slowestMs: Number((sorted.at(-1) ?? 0).toFixed(1)),
    cachedMs: Number(cachedMs.toFixed(2)),
  }),
)
