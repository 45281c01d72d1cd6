import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkGbnf } from '../src/grammar/rules/check-gbnf.ts'
import { GrammarError } from '../src/grammar/rules/grammar-error.ts'
import { randomSchema } from './support/hostile/random-schema.ts'
import { compileJsonSchema, regexToGbnf } from './support/llama/compile-json-schema.ts'
import { createMatcher } from './support/llama/gbnf-matcher.ts'
import { createRandom } from './support/random.ts'

/** llama.cpp's own reader of grammars; `_testText` is not public API, and this file is the one place that uses it. */
type NativeGrammar = { _testText(text: string): boolean }

let llama: Llama
beforeAll(async () => {
  llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    logLevel: LlamaLogLevel.disabled,
  })
})
afterAll(() => llama.dispose())

async function native(grammar: string): Promise<NativeGrammar> {
  return (await llama.createGrammar({ grammar })) as unknown as NativeGrammar
}

test('llama.cpp reads what we write, and agrees with the matcher of the tests', async () => {
  const random = createRandom(23)
  let texts = 0
  for (let count = 0; count < 60; count++) {
    const grammar = compiled(randomSchema(random))
    if (grammar === undefined) continue
    const [theirs, ours] = [await native(grammar), createMatcher(grammar)]
    for (let sample = 0; sample < 2; sample++) {
      const text = ours.generate(random, 120)
      const cut = text.slice(0, Math.floor(random() * text.length))
      expect(theirs._testText(text), `${text}\n${grammar}`).toBe(true)
      expect(theirs._testText(cut), cut).toBe(ours.matches(cut))
      texts++
    }
  }
  expect(texts).toBeGreaterThan(80)
})

test.each([
  { type: 'string', maxLength: 50_000 },
  { type: 'array', items: { type: 'string', maxLength: 5000 }, minItems: 1500, maxItems: 60_000 },
  { type: 'string', pattern: '^(?:[a-z]{1,63}\\.){1,60}$' },
  {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`p${index}`, { type: 'integer' }])),
  },
  { type: 'string', pattern: '^["\\\\\\u0000-\\u001f\\]\\[^-]+$' },
])('llama.cpp takes the large and the odd: %j', async (schema) => {
  const { grammar } = compileJsonSchema(schema)
  expect((await native(grammar))._testText(createMatcher(grammar).generate(createRandom(2), 100))).toBe(true)
})

test('a grammar that passes the check is one that llama.cpp takes', async () => {
  for (const grammar of [
    'root ::= "a" {2} [b-d\\]]\n',
    'root ::= (\n"a"|\n"b" )* # end',
    'root ::= "\\x41\\u00e9" .',
    regexToGbnf('a{1,5}').grammar,
  ]) {
    checkGbnf(grammar)
    await expect(native(grammar)).resolves.toBeDefined()
  }
})

function compiled(schema: object): string | undefined {
  try {
    return compileJsonSchema(schema).grammar
  } catch (error) {
    if (error instanceof GrammarError) return undefined
    throw error
  }
}
