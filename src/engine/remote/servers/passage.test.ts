import { expect, test } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import { ask, engineOver, failure, fine, never, upstream } from '../../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, streamOf, usageChunk } from '../../../../test/support/upstream/upstream.ts'
import type { ProfileName } from './profile.ts'

/** What a router and the engine behind it do with each thing that is probed. */
type Behaviour = {
  readonly enforces?: boolean
  readonly reasons?: boolean
  readonly checks?: readonly string[]
  readonly tokenizes?: boolean
  readonly counts?: boolean
}

const json =
  (status: number, value: unknown): Answer =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }

function whole(content: string, finish_reason = 'stop'): Answer {
  return json(200, { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason }] })
}

function router({ enforces = false, reasons = false, checks = [], tokenizes = false, counts = false }: Behaviour): Answer {
  return (request, response) => {
    const { path, body } = request
    const answerWith = (answer: Answer) => answer(request, response)
    if (path === '/tokenize') return answerWith(json(tokenizes ? 200 : 404, { tokens: [1] }))
    if (body.stream === true) {
      const usage = counts ? { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } } : {}
      return answerWith(
        streamOf(chatChunk({ delta: { content: 'a' }, finish_reason: 'stop' }, usage), usageChunk(1, 1), doneLine),
      )
    }
    if (body.top_k === -5) return answerWith(checks.includes('top_k') ? json(400, { error: { message: 'top_k' } }) : whole('a'))
    if (body.tools !== undefined) return answerWith(checks.includes('strict') ? json(422, {}) : whole('a'))
    const constraint = body.structured_outputs ?? body.regex ?? body.grammar
    if (constraint === undefined) return answerWith(whole('Hello'))
    if (reasons) return answerWith(whole('', 'length'))
    return answerWith(whole(enforces ? 'qzxv' : 'Hello there'))
  }
}

async function passesOf(profile: ProfileName, behaviour: Behaviour) {
  const server = await upstream(router(behaviour))
  const endpoints = [{ url: server.url, weight: 1, isRouter: true as const }]
  const engine = engineOver([server], { endpoints, profile, probesAbilities: true })
  await engine.ensureReady(never)
  const found = () => engine.capabilities.fleet?.replicas()[0]?.found
  await until(() => found()?.passes !== undefined)
  return { engine, server, passes: found()?.passes }
}

test('a router that passes everything on', async () => {
  const all = { enforces: true, checks: ['top_k', 'strict'], tokenizes: true, counts: true }
  const { passes } = await passesOf('vllm', all)
  expect(passes).toEqual({ regex: true, top_k: true, tokenizer: true, continuous_usage_stats: true, strict: true })
})

test('a router that drops all of it: it is not sent, but refused by name or done here', async () => {
  const { engine, server, passes } = await passesOf('vllm', {})
  expect(passes).toEqual({ regex: false, top_k: false, tokenizer: false, continuous_usage_stats: false, strict: false })
  expect(await failure(engine, ask('hi', { output: { type: 'regex', pattern: 'a' } }))).toMatchObject({
    code: 'unsupported-field',
    at: ['output'],
  })
  expect(await failure(engine, ask('hi', { sampling: { topK: 5 } }))).toMatchObject({ code: 'unsupported-field' })
  await expect(engine.capabilities.tokenizer?.detokenize({ tokens: [1], special: true }, never)).rejects.toMatchObject({
    code: 'unsupported-field',
  })
  server.answer = fine
  server.seen.length = 0
  const prepared = await engine.prepare(ask('hi'), never)
  await prepared.run(never, () => undefined)
  expect(server.seen.at(-1)?.body.stream_options).toEqual({ include_usage: true })
})

test.each<[ProfileName, Behaviour, Record<string, boolean>]>([
  ['vllm', { reasons: true }, { top_k: false, tokenizer: false, continuous_usage_stats: false, strict: false }],
  ['sglang', { enforces: true }, { regex: true, top_k: false, continuous_usage_stats: false, strict: false }],
  ['llama-server', { enforces: true, tokenizes: true }, { regex: true, tokenizer: true }],
  ['openai', {}, {}],
])('what a reply of %s does not show stays open: %j', async (profile, behaviour, expected) => {
  expect((await passesOf(profile, behaviour)).passes).toEqual(expected)
})

test('a server is not probed so, nor a router whose plain reply fails', async () => {
  const server = await upstream(router({}))
  const engine = engineOver([server], { profile: 'vllm', probesAbilities: true })
  await engine.ensureReady(never)
  expect(server.seen).toEqual([])
  const busy = await upstream(json(503, {}))
  const busyRouter = engineOver([busy], {
    endpoints: [{ url: busy.url, weight: 1, isRouter: true }],
    profile: 'vllm',
    probesAbilities: true,
  })
  await busyRouter.ensureReady(never)
  await until(() => busyRouter.capabilities.fleet?.replicas()[0]?.found?.passes !== undefined)
  expect(busy.seen).toHaveLength(1)
})
