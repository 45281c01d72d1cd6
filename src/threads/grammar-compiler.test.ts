import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { withTurnsMeanwhile } from '../../test/support/process/turns-meanwhile.ts'
import { compileOutput, type GrammarRequest } from '../grammar/compile-output.ts'
import { GrammarCompiler } from './grammar-compiler.ts'

const compiler = new GrammarCompiler()
afterAll(() => compiler.close())

function schemaRequest(schema: object): GrammarRequest {
  return { output: { type: 'json-schema', schema: { ...schema }, strict: false }, param: 'response_format' }
}

/** Takes about a second, close to the limit: each alternative is compared with all others. */
function slowRequest(seed: number): GrammarRequest {
  const alternatives = Array.from({ length: 250 }, (_, index) => ({
    type: 'object',
    properties: {
      kind: { const: `kind-${seed}-${index}` },
      [`field${index}`]: { type: 'integer', minimum: index, maximum: 1_000_003 },
    },
    required: ['kind'],
  }))
  return schemaRequest({ properties: { a: { oneOf: alternatives }, b: { oneOf: alternatives.slice(1) } } })
}

describe('GrammarCompiler', () => {
  test.each<[string, GrammarRequest]>([
    ['a schema', schemaRequest({ type: 'object', properties: { a: { type: 'integer' } } })],
    ['a pattern', { output: { type: 'regex', pattern: 'a+b' }, param: 'regex' }],
    ['any object', { output: { type: 'json-object' }, param: 'response_format' }],
  ])('compiles %s to the same grammar as in this thread', async (_, request) => {
    expect(await compiler.compile(request)).toEqual(compileOutput(request))
  })

  test('GrammarCompiler caches grammars', async () => {
    const request = schemaRequest({ type: 'boolean' })
    expect(await compiler.compile(request)).toBe(await compiler.compile(request))
  })

  test.each<[string, GrammarRequest, object]>([
    ['an invalid schema', schemaRequest({ type: 'nothing' }), { code: 'invalid-request', param: 'response_format.type' }],
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
    ['too much', schemaRequest({ minLength: 1e9 }), { code: 'unsupported-field', param: 'response_format' }],
  ])('GrammarCompiler refuses %s with the code and the field of the request', async (_, request, failure) => {
    await expect(compiler.compile(request)).rejects.toMatchObject({ name: 'AppError', ...failure })
  })

  test('GrammarCompiler leaves this thread responsive meanwhile', async () => {
    const patient = new GrammarCompiler({ timeoutMs: 60_000 })
    onTestFinished(() => patient.close())
    await patient.compile(schemaRequest({ type: 'null' }))
    const { turns } = await withTurnsMeanwhile(() => patient.compile(slowRequest(1)))
    expect(turns).toBeGreaterThan(100)
  })

  test('GrammarCompiler refuses work past the time limit, and compiles the next request', async () => {
    const hasty = new GrammarCompiler({ timeoutMs: 200 })
    try {
      await expect(hasty.compile(slowRequest(2))).rejects.toMatchObject({
        code: 'unsupported-field',
        at: ['output'],
        message: expect.stringContaining('too long'),
      })
      expect((await hasty.compile(schemaRequest({ type: 'boolean' }))).enforcement).toBe('full')
    } finally {
      await hasty.close()
    }
  })

  test('closing does not wait for a running request, and does not blame its caller', async () => {
    const closed = new GrammarCompiler({ timeoutMs: 60_000 })
    const compiling = closed.compile(slowRequest(3))
    const [made] = await Promise.allSettled([compiling, closed.close()])
    expect(made).toMatchObject({ status: 'rejected', reason: { code: 'model-unavailable' } })
    await expect(closed.compile(schemaRequest({ type: 'boolean' }))).rejects.toMatchObject({ code: 'model-unavailable' })
  })
})
