import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { createDragoman } from '../../../src/app/create-dragoman.ts'
import { callsOf, outputOf } from '../../../src/canonical/parts.ts'
import type { EngineEvent } from '../../../src/contract/event.ts'
import { type GenerationRequest, type Message, type OutputPart, plainChat } from '../../../src/contract/request.ts'
import type { Protocol } from '../../../src/engine/remote/servers/profile.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { assistant, call, image, reasoning, text } from '../../support/parts.ts'
import { png } from '../../support/pictures.ts'
import { blockOf, callBlock, messageOf } from '../../support/upstream/messages-stream.ts'
import { answer, ask, closedAfterwards, engineOver, upstream } from '../../support/upstream/remote-engine.ts'
import { shortUsage, stubEngine } from '../../support/upstream/stub-engine.ts'
import { doneLine, streamOf } from '../../support/upstream/upstream.ts'

const tools = ['f', 'g'].map((name) => ({ name, parameters: { type: 'object' } }))

/** A Dragoman whose model writes these parts, and an engine that speaks to it in this protocol. */
async function engineOverParts(protocol: Protocol) {
  const state: { parts: readonly OutputPart[]; seen: GenerationRequest | undefined } = { parts: [], seen: undefined }
  const model = stubEngine({
    prepare: async (request) => {
      state.seen = request
      return {
        run: async (_, emit) => {
          for (const event of eventsOf(state.parts)) await emit(event)
        },
      }
    },
  })
  const dragoman = closedAfterwards(
    await createDragoman({ models: [{ id: 'up', engine: model }], config: { server: { port: 0 }, builtinModel: false } }),
  )
  const endpoints = [{ url: `${await dragoman.listen()}/v1`, weight: 1 }]
  return { state, engine: engineOver([], { id: 'up', endpoints, protocol, profile: 'dragoman' }) }
}

function eventsOf(parts: readonly OutputPart[]): readonly EngineEvent[] {
  const choice = 0
  const events = parts.flatMap((part): readonly EngineEvent[] => {
    switch (part.type) {
      case 'text':
        return [{ type: 'raw-text', choice, text: part.text }]
      case 'reasoning':
        return [
          { type: 'reasoning-start', choice },
          { type: 'reasoning-delta', choice, delta: part.text },
          { type: 'reasoning-end', choice, ...(part.opaque !== undefined && { opaque: part.opaque }) },
        ]
      case 'tool-call':
        return [
          { type: 'tool-call-start', choice, id: part.id, name: part.name },
          { type: 'tool-call-delta', choice, id: part.id, delta: part.input },
          { type: 'tool-call-end', choice, id: part.id },
        ]
      default:
        throw new Error(`no model writes ${part.type}`)
    }
  })
  const reason = callsOf(parts).length > 0 ? 'tool-calls' : 'stop'
  return [...events, { type: 'finish', choice, reason }, shortUsage]
}

const words = fc
  .string({ minLength: 1, maxLength: 12, unit: fc.constantFrom('a', 'é', '雪', '🙂', ' ', '\n', '"', '<') })
  .map((all) => `${all}.`)
const opaque = fc.option(words, { nil: undefined })
const writtenPart = fc.oneof(
  words.map(text),
  fc.tuple(words, opaque).map(([thought, kept]) => ({ ...reasoning(thought), ...(kept !== undefined && { opaque: kept }) })),
  fc.tuple(fc.constantFrom('f', 'g'), fc.dictionary(words, words)).map(([name, value]) => call('', name, JSON.stringify(value))),
)
/** Texts next to each other would be one; each call has an id of its own. */
const written = fc
  .array(writtenPart, { minLength: 1, maxLength: 6 })
  .map((all) =>
    all
      .filter(({ type }, index) => type !== 'text' || all[index - 1]?.type !== 'text')
      .map((part, index) => (part.type === 'tool-call' ? { ...part, id: `call_${index}` } : part)),
  )

const picture = image(png([200, 30, 30], { width: 2, height: 2 }).toString('base64'))

/** The results of a turn's calls: some have an image, and some are errors, which Responses cannot express. */
function resultsOf(parts: readonly OutputPart[], said: string, protocol: Protocol): readonly Message[] {
  return callsOf(parts).map(({ id }, index) => ({
    role: 'tool',
    toolCallId: id,
    content: index % 2 === 0 ? [text(said)] : [text(said), picture],
    ...(index % 3 === 1 && protocol === 'messages' && { isError: true }),
  }))
}

test.each<Protocol>(['responses', 'messages'])(
  'two turns through the %s of another Dragoman are what they were, in the order of their parts',
  async (protocol) => {
    const { state, engine } = await engineOverParts(protocol)
    await fc.assert(
      fc.asyncProperty(words, written, words, async (question, parts, said) => {
        state.parts = parts
        const first: readonly Message[] = [
          { role: 'system', content: [text('Be brief.')] },
          { role: 'user', content: [text(question), picture] },
        ]
        const chat = { type: 'chat', ...plainChat, tools } as const
        const { choices } = await answer(engine, ask('', { prompt: { ...chat, messages: first }, reasoning: { enabled: true } }))
        const [choice] = choices
        const shown = (choice?.parts ?? []).map((part) => (part.type === 'reasoning' ? reasoning(part.text) : part))
        expect(shown).toEqual(parts.map((part) => (part.type === 'reasoning' ? reasoning(part.text) : part)))
        const second = [
          ...first,
          assistant(...outputOf(choice?.parts ?? [])),
          ...resultsOf(parts, said, protocol),
          { role: 'user', content: [text(said)] } as const,
        ]
        await answer(engine, ask('', { prompt: { ...chat, messages: second }, reasoning: { enabled: true } }))
        // What the first model signed came back to it.
        expect(state.seen?.prompt).toMatchObject({
          messages: [...first, assistant(...parts), ...resultsOf(parts, said, protocol), { role: 'user', content: [text(said)] }],
          tools,
        })
      }),
      { numRuns: 60 },
    )
  },
)

/** What a Dragoman over this upstream answers to these bodies, one after the other. */
async function post(app: RunningApp, path: string, body: object): Promise<Record<string, unknown>> {
  const reply = await fetch(app.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', max_tokens: 2000, ...body }),
  })
  expect(reply.status).toBe(200)
  return (await reply.json()) as Record<string, unknown>
}

test("what an upstream signed passes through a client of Anthropic's protocol, and comes back", async () => {
  const thought = blockOf(0, { type: 'thinking', thinking: '', signature: '' }, [
    { type: 'thinking_delta', thinking: 'hm' },
    { type: 'signature_delta', signature: 'signed by the upstream' },
  ])
  const server = await upstream(messageOf(thought, callBlock(1, 'toolu_1', 'f', '{"a":1}')))
  const app = closedAfterwards(
    await startApp({
      models: [{ id: 'm', engine: 'remote', endpoints: [{ url: server.url }], server: 'anthropic' }],
      builtinModel: false,
    }),
  )
  const tool = { name: 'f', input_schema: { type: 'object' } }
  const asked = { tools: [tool], thinking: { type: 'enabled', budget_tokens: 1024 } }
  const user = { role: 'user', content: 'hi' }
  const { content } = await post(app, '/v1/messages', { ...asked, messages: [user] })
  expect(content).toMatchObject([
    { type: 'thinking', thinking: 'hm' },
    { type: 'tool_use', input: { a: 1 } },
  ])
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] }
  await post(app, '/v1/messages', { ...asked, messages: [user, { role: 'assistant', content }, result] })
  expect(server.seen.at(-1)).toMatchObject({
    path: '/v1/messages',
    body: {
      thinking: { type: 'enabled', budget_tokens: 1024 },
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'signed by the upstream' },
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
      ],
    },
  })
})

test("a chat is rendered with the template of a model's folder for a server that takes texts only", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-model-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const template = '{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}{% endfor %}'
  const config = { chat_template: template, bos_token: '<s>', eos_token: '</s>', add_bos_token: true }
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(config))
  const chunk = { choices: [{ index: 0, text: 'ok', finish_reason: 'stop' }] }
  const server = await upstream(streamOf(`data: ${JSON.stringify(chunk)}\n\n`, doneLine))
  const app = closedAfterwards(
    await startApp({
      models: [
        {
          id: 'm',
          engine: 'remote',
          endpoints: [{ url: server.url }],
          protocol: 'completions',
          chatTemplate: folder,
          probe: false,
        },
      ],
      builtinModel: false,
    }),
  )
  const { choices } = await post(app, '/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] })
  expect(choices).toMatchObject([{ message: { content: 'ok' }, finish_reason: 'stop' }])
  expect(server.seen).toMatchObject([
    { path: '/v1/completions', body: { prompt: '[user] hi</s>', stop: ['</s>'], max_tokens: 2000 } },
  ])
})
