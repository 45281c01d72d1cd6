import { afterAll, describe, expect, test } from 'vitest'
import { compileOutput, type GrammarQuestion } from '../grammar/compile-output.ts'
import { GrammarMaker } from './grammar-maker.ts'

const maker = new GrammarMaker()
afterAll(() => maker.close())

function schemaQuestion(schema: object): GrammarQuestion {
  return { output: { type: 'json-schema', schema: { ...schema }, strict: false }, param: 'response_format' }
}

/** Takes a second, nearly all that it may: every alternative is told from every other. */
function slowQuestion(seed: number): GrammarQuestion {
  const alternatives = Array.from({ length: 250 }, (_, index) => ({
    type: 'object',
    properties: {
      kind: { const: `kind-${seed}-${index}` },
      [`field${index}`]: { type: 'integer', minimum: index, maximum: 1_000_003 },
    },
    required: ['kind'],
  }))
  return schemaQuestion({ properties: { a: { oneOf: alternatives }, b: { oneOf: alternatives.slice(1) } } })
}

describe('GrammarMaker', () => {
  test.each<[string, GrammarQuestion]>([
    ['a schema', schemaQuestion({ type: 'object', properties: { a: { type: 'integer' } } })],
    ['a pattern', { output: { type: 'regex', pattern: 'a+b' }, param: 'regex' }],
    ['any object', { output: { type: 'json-object' }, param: 'response_format' }],
  ])('makes of %s what would be made here', async (_, question) => {
    expect(await maker.make(question)).toEqual(compileOutput(question))
  })

  test('what was made is kept', async () => {
    const question = schemaQuestion({ type: 'boolean' })
    expect(await maker.make(question)).toBe(await maker.make(question))
  })

  test.each<[string, GrammarQuestion, object]>([
    ['an invalid schema', schemaQuestion({ type: 'nothing' }), { code: 'invalid-request', param: 'response_format.type' }],
    [
      'an unenforceable strict schema',
      { output: { type: 'json-schema', schema: { uniqueItems: true }, strict: true }, param: 'schema' },
      { code: 'unsupported-field', param: 'schema.uniqueItems' },
    ],
    [
      'an invalid pattern',
      { output: { type: 'regex', pattern: '(' }, param: 'regex' },
      { code: 'invalid-request', param: 'regex' },
    ],
    [
      'an unsupported pattern',
      { output: { type: 'regex', pattern: '(a)\\1' }, param: 'regex' },
      { code: 'unsupported-field', param: 'regex' },
    ],
    ['too much', schemaQuestion({ minLength: 1e9 }), { code: 'unsupported-field', param: 'response_format' }],
  ])('%s is refused with the code and the field of the request', async (_, question, failure) => {
    await expect(maker.make(question)).rejects.toMatchObject({ name: 'AppError', ...failure })
  })

  test('nothing here stands still meanwhile', async () => {
    await maker.make(schemaQuestion({ type: 'null' }))
    let longestMs = 0
    let lastMs = performance.now()
    const watch = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - lastMs)
      lastMs = performance.now()
    }, 1)
    const startMs = performance.now()
    await maker.make(slowQuestion(1))
    clearInterval(watch)
    expect(longestMs).toBeLessThan((performance.now() - startMs) / 2)
  })

  test('what takes too long is refused, and the next is made', async () => {
    const hasty = new GrammarMaker({ timeoutMs: 200 })
    try {
      await expect(hasty.make(slowQuestion(2))).rejects.toMatchObject({
        code: 'unsupported-field',
        param: 'response_format',
        message: expect.stringContaining('too long'),
      })
      expect((await hasty.make(schemaQuestion({ type: 'boolean' }))).enforcement).toBe('full')
    } finally {
      await hasty.close()
    }
  })

  test('closing it does not wait for what is under way, and does not blame the caller for it', async () => {
    const closed = new GrammarMaker({ timeoutMs: 60_000 })
    const making = closed.make(slowQuestion(3))
    const [made] = await Promise.allSettled([making, closed.close()])
    expect(made).toMatchObject({ status: 'rejected', reason: { code: 'model-unavailable' } })
    await expect(closed.make(schemaQuestion({ type: 'boolean' }))).rejects.toMatchObject({ code: 'model-unavailable' })
  })
})
