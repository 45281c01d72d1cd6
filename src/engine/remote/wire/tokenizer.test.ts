import { expect, test } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import { textsOf } from '../../../../test/support/parts.ts'
import { answer, ask, engineOver, failure, fine, never, upstream } from '../../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, type ScriptedUpstream, streamOf } from '../../../../test/support/upstream/upstream.ts'
import type { GenerationRequest } from '../../../contract/request.ts'

const tools = [{ name: 'long_name', description: 'x'.repeat(400), parameters: { type: 'object' } }]

/** Makes a token of each character of a conversation's JSON; `chat` replies to the rest. */
function counting(chat: Answer): Answer {
  return (request, response) => {
    if (request.path !== '/tokenize') return chat(request, response)
    const length = JSON.stringify(request.body).length
    response.end(JSON.stringify({ tokens: Array.from({ length }, (_, index) => index) }))
  }
}

async function server(ownedBy: string, contextLength: number, chat: Answer = fine): Promise<ScriptedUpstream> {
  const started = await upstream(counting(chat), { ownedBy })
  started.get = (path, response) => {
    if (path !== '/v1/models') return false
    response.end(JSON.stringify({ data: [{ id: 'up', owned_by: ownedBy, max_model_len: contextLength }] }))
    return true
  }
  return started
}

const countings = ({ seen }: ScriptedUpstream) => seen.filter(({ path }) => path === '/tokenize').map(({ body }) => body)

test.each<[string, GenerationRequest['toolChoice'], boolean]>([
  ['none may be called', { type: 'none' }, false],
  ['others may be called', { type: 'auto', names: [] }, false],
  ['they may be called', { type: 'auto' }, true],
])('only declared tools are counted: %s', async (_, toolChoice, areCounted) => {
  const vllm = await server('vllm', 500)
  const request = ask('hi', { toolChoice }, tools)
  if (areCounted) expect(await failure(engineOver([vllm]), request)).toMatchObject({ code: 'context-length-exceeded' })
  else expect(textsOf(await answer(engineOver([vllm]), request))).toEqual(['ok'])
  const [counted] = countings(vllm)
  expect(JSON.stringify(counted).includes('long_name')).toBe(areCounted)
})

test('tools that were not sent are not in the estimate for a server without usage', async () => {
  const uncounted = streamOf(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }), doneLine)
  const vllm = await server('vllm', 100_000, uncounted)
  const { usage } = await answer(engineOver([vllm]), ask('hi', { toolChoice: { type: 'none' } }, tools))
  expect(usage.inputTokens).toBeGreaterThan(0)
  expect(usage.inputTokens).toBeLessThan(400)
})

test('tokens are counted here, without a request', async () => {
  const vllm = await server('vllm', 100)
  const request = ask('', { prompt: { type: 'tokens', tokens: Array.from({ length: 200 }, () => 1) } })
  expect(await failure(engineOver([vllm]), request)).toMatchObject({ code: 'context-length-exceeded' })
  expect(vllm.seen).toEqual([])
})

test('a working tokenizer does not offset failed generations', async () => {
  const vllm = await server('vllm', 300, (_, response) => {
    response.writeHead(503)
    response.end('boom')
  })
  const engine = engineOver([vllm])
  expect((await failure(engine)).code).toBe('model-unavailable')
  const awayAt = vllm.seen.length
  expect(engine.capabilities.fleet?.replicas()).not.toMatchObject([{ state: 'healthy' }])
  await until(() => engine.capabilities.fleet?.replicas()[0]?.state === 'half-open')
  await engine.capabilities.tokenizer?.tokenize(
    { prompt: { type: 'text', text: 'a' }, reasoning: {}, addBos: false, parseSpecial: true },
    never,
  )
  expect(vllm.seen.length).toBeGreaterThan(awayAt)
  expect(engine.capabilities.fleet?.replicas()).not.toMatchObject([{ state: 'healthy' }])
})

test('of several replicas, the one with a tokenizer is asked', async () => {
  const engine = engineOver([await server('library', 100), await server('vllm', 100)])
  await engine.ensureReady(never)
  await until(() => engine.capabilities.fleet?.replicas().every(({ found }) => found !== undefined) === true)
  for (let turn = 0; turn < 3; turn++) {
    const request = { prompt: { type: 'text', text: 'a' }, reasoning: {}, addBos: false, parseSpecial: true } as const
    expect((await engine.capabilities.tokenizer?.tokenize(request, never))?.length).toBeGreaterThan(0)
  }
})

test('vLLM cannot tokenize special tokens as text', async () => {
  const engine = engineOver([await server('vllm', 100)])
  const request = { prompt: { type: 'text', text: '<|im_end|>' }, reasoning: {}, addBos: false, parseSpecial: false } as const
  await expect(engine.capabilities.tokenizer?.tokenize(request, never)).rejects.toMatchObject({
    code: 'unsupported-field',
    at: ['parseSpecial'],
  })
})

test('llama-server can', async () => {
  const llama = await server('llamacpp', 100)
  const request = { prompt: { type: 'text', text: '<|im_end|>' }, reasoning: {}, addBos: false, parseSpecial: false } as const
  await engineOver([llama]).capabilities.tokenizer?.tokenize(request, never)
  expect(countings(llama)).toMatchObject([{ parse_special: false }])
})

test.each(['vllm', 'llamacpp'])('%s cannot leave out special tokens', async (ownedBy) => {
  const engine = engineOver([await server(ownedBy, 100)])
  const without = engine.capabilities.tokenizer?.detokenize({ tokens: [1], special: false }, never)
  await expect(without).rejects.toMatchObject({ code: 'unsupported-field', at: ['special'] })
})

test('a conversation is rendered without the tools that may not be called', async () => {
  const llama = await server('llamacpp', 1000)
  const { prompt } = ask('hi', {}, tools)
  if (prompt.type !== 'chat') throw new Error('a conversation was asked for')
  const engine = engineOver([llama])
  // Only the request matters.
  await engine.capabilities.tokenizer
    ?.render({ prompt, reasoning: {}, toolChoice: { type: 'none' } }, never)
    .catch(() => undefined)
  const asked = llama.seen.filter(({ path }) => path === '/apply-template')
  expect(asked.length).toBeGreaterThan(0)
  expect(JSON.stringify(asked)).not.toContain('long_name')
})

test('the modalities of a server are facts of the model', async () => {
  const llama = await server('llamacpp', 1000)
  const { get } = llama
  llama.get = (path, response) => {
    if (path !== '/props') return get?.(path, response) ?? false
    response.end(JSON.stringify({ modalities: { vision: true, audio: false } }))
    return true
  }
  const engine = engineOver([llama])
  await engine.ensureReady(never)
  expect(engine.facts).toMatchObject({ modalities: { image: true, audio: false } })
})
