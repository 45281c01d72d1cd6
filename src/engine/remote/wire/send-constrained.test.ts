import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../../test/support/llama/gbnf-matcher.ts'
import { textsOf } from '../../../../test/support/parts.ts'
import { answer, ask, knownEngine, refusing, upstream } from '../../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, streamOf } from '../../../../test/support/upstream/upstream.ts'
import type { OutputConstraint } from '../../../contract/request.ts'

const output = { type: 'json-schema', schema: { enum: [1, 2] }, strict: true } as const
const fine = streamOf(chatChunk({ delta: { content: '1' } }), chatChunk({ delta: {}, finish_reason: 'stop' }), doneLine)

type Body = { readonly structured_outputs?: { readonly grammar?: string }; readonly response_format?: unknown }

/** A vLLM of this version. */
async function vllm(reply: Answer, version = '0.32.0') {
  const server = await upstream(reply)
  server.get = (path, response) => path === '/version' && response.end(JSON.stringify({ version })) !== undefined
  const engine = await knownEngine([server], { profile: 'vllm' })
  const bodies = () => server.seen.filter(({ path }) => path === '/v1/chat/completions').map(({ body }) => body as Body)
  return { engine, bodies, ask: (wanted: OutputConstraint = output) => answer(engine, ask('hi', { output: wanted })) }
}

/** A server whose compiler takes no grammars; `refusal` gets its words. */
function withoutCompiler(words: string, refusal: (words: string) => Answer): Answer {
  return (request, response) => {
    const { structured_outputs: held } = request.body as Body
    return (held?.grammar === undefined ? fine : refusal(words))(request, response)
  }
}

const inStream = (message: string) => streamOf(`data: ${JSON.stringify({ error: { message, code: 400 } })}\n\n`, doneLine)
const asStatus = (message: string) => refusing(400, JSON.stringify({ error: { message } }))

describe('JSON from vLLM', () => {
  test('is asked for by a grammar that leaves room for one space', async () => {
    const { ask, bodies } = await vllm(fine)
    await ask({ ...output, schema: { type: 'array', items: { type: 'integer' }, maxItems: 2 } })
    await ask({ type: 'json-object' })
    const [schema, object] = bodies()
    expect(schema).not.toHaveProperty('response_format')
    const { matches } = createMatcher(schema?.structured_outputs?.grammar ?? '')
    expect(['[1, 2]', '[1,2]', '[1,  2]', '[ 1'].map(matches)).toEqual([true, true, false, false])
    expect(createMatcher(object?.structured_outputs?.grammar ?? '').matches('{"a": 1}')).toBe(true)
  })

  test('is asked for by its schema where the version lacks the field of grammars', async () => {
    for (const version of ['0.10.2', '0.9.0.1', 'dev']) {
      const { ask, bodies } = await vllm(fine, version)
      await ask()
      expect(bodies()).toMatchObject([{ response_format: { type: 'json_schema' } }])
    }
    for (const version of ['0.11.0', 'v0.12.1', '1.0.0+cpu']) {
      const { ask, bodies } = await vllm(fine, version)
      await ask()
      expect(bodies()).toMatchObject([{ structured_outputs: { grammar: expect.any(String) } }])
    }
  })

  test.each([
    ['in the stream', inStream],
    ['as a status', asStatus],
  ])('is asked for by its schema where the compiler takes no grammars, which it says once: %s', async (_, refusal) => {
    const { ask, bodies } = await vllm(withoutCompiler('Outlines backend does not support grammar specifications', refusal))
    expect(textsOf(await ask())).toEqual(['1'])
    expect(textsOf(await ask())).toEqual(['1'])
    const forms = bodies().map((body) => (body.response_format === undefined ? 'grammar' : 'schema'))
    expect(forms).toEqual(['grammar', 'schema', 'schema'])
  })

  test('is asked for by a grammar again after one that was refused', async () => {
    const { ask, bodies } = await vllm(withoutCompiler('Invalid grammar specification.', inStream))
    await ask()
    await ask()
    expect(bodies().map((body) => body.response_format === undefined)).toEqual([true, false, true, false])
  })

  test("is not asked for again where the caller's own grammar or something else is refused", async () => {
    const own = await vllm(withoutCompiler('Outlines does not support grammars', inStream))
    await expect(own.ask({ type: 'gbnf', grammar: 'root ::= "1"' })).rejects.toMatchObject({ code: 'invalid-request' })
    expect(own.bodies()).toHaveLength(1)
    const other = await vllm(inStream('top_k must be positive'))
    await expect(other.ask()).rejects.toMatchObject({ code: 'invalid-request' })
    expect(other.bodies()).toHaveLength(1)
  })
})
