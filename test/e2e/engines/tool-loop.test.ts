import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLog } from '../../../src/app/log/log.ts'
import type { Engine } from '../../../src/contract/engine.ts'
import { AppError } from '../../../src/contract/errors.ts'
import type { GenerationEvent } from '../../../src/contract/event.ts'
import { plainToolUse } from '../../../src/contract/request.ts'
import type { ToolBox, ToolOutcome, ToolRun } from '../../../src/contract/server-tool.ts'
import { answer } from '../../../src/core/tool-loop/answer.ts'
import { createFakeEngine } from '../../../src/engine/fake/engine.ts'
import { LlamaServerEngine } from '../../../src/engine/llama-server/engine.ts'
import { createRemoteEngine } from '../../../src/engine/remote/engine.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { contextOf } from '../../support/http/context.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { createRandomEngine } from '../../support/llama/random-engine.ts'
import { ask } from '../../support/upstream/remote-engine.ts'
import { chatChunk, startUpstream, streamOf, usageChunk } from '../../support/upstream/upstream.ts'

const never = new AbortController().signal
const quiet = createLog({ level: 'silent', destination: { write: () => undefined } })
const cleanups: (() => unknown)[] = []
afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean()
})

const remoteOver = (url: string, options: object = {}) =>
  createRemoteEngine({ id: 'm', endpoints: [{ url, weight: 1 }], connections: 4, log: quiet, ...options })

/** A model that calls in its first turn, because it has to, and says something in its second. */
const engines: Readonly<Record<string, () => Promise<Engine>>> = {
  async fake() {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-tool-loop-'))
    cleanups.push(() => rm(folder, { recursive: true }))
    const script = join(folder, 'script.yaml')
    const call = '<tool_call>{"name":"weather","arguments":{"unit":"C"}}</tool_call>'
    await writeFile(script, `- result: sunny\n  reply: { raw: It is sunny. }\n- reply: { raw: '${call}' }\n`)
    return createFakeEngine({ script, toolFormat: 'hermes' })
  },
  llama: async () => createRandomEngine({ modelPath: builtinModel.path }),
  ...(llamaServerBinary !== undefined && {
    'llama-server': async () => {
      return new LlamaServerEngine({
        id: 'm',
        log: quiet,
        locate: async () => ({
          binary: llamaServerBinary ?? '',
          modelPath: builtinModel.path,
          contextLength: 2048,
          slots: 2,
          threads: 1,
          flashAttention: 'auto',
          extraArguments: ['--jinja'],
        }),
        createUpstream: ({ url, apiKey, model }) =>
          remoteOver(url, { endpoints: [{ url, apiKey, weight: 1 }], profile: 'llama-server', upstreamModel: model }),
      })
    },
  }),
  async remote() {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"unit":"C"}' } }
    const server = await startUpstream((request, response) => {
      const { messages = [] } = request.body as { readonly messages?: readonly { readonly role: string }[] }
      const hasResult = messages.some(({ role }) => role === 'tool')
      const said = hasResult ? chatChunk({ delta: { content: 'It is sunny.' } }) : chatChunk({ delta: { tool_calls: [call] } })
      const end = chatChunk({ delta: {}, finish_reason: hasResult ? 'stop' : 'tool_calls' })
      return streamOf(said, end, usageChunk(10, 5), 'data: [DONE]\n\n')(request, response)
    })
    cleanups.push(() => server.close())
    return remoteOver(server.url, { profile: 'vllm' })
  },
}

function boxOf(run: (call: ToolRun) => Promise<ToolOutcome>): ToolBox {
  const parameters = {
    type: 'object',
    properties: { unit: { enum: ['C'] } },
    required: ['unit'],
    additionalProperties: false,
  }
  const tool = { name: 'weather', kind: 'mcp', description: 'The weather.', parameters, run } as const
  return {
    list: async () => ({ tools: [tool], absent: [] }),
    namesFor: () => new Set(['weather']),
    close: async () => undefined,
  }
}

const request = ask('How is the weather?', {
  toolUse: { ...plainToolUse, maxTurns: 1 },
  toolChoice: { type: 'required' },
  parallelToolCalls: false,
  maxOutputTokens: 200,
  sampling: { seed: 1, temperature: 0 },
  // Whether a model thinks where nothing is said is its template's and its server's to decide.
  reasoning: { enabled: false },
})

/** What a dialect could tell apart, with the deltas of a text as one, and without the words of a model. */
function shapeOf(events: readonly GenerationEvent[]): readonly unknown[] {
  const shape = events.flatMap((event): unknown[] => {
    if (event.type === 'prompt-read' || event.type === 'prompt-progress') return []
    if (event.type === 'server-tool-start') return [{ ...event, call: { ...event.call, id: 'ID' } }]
    if (event.type === 'server-tool-end') return [{ ...event, id: 'ID' }]
    if (event.type === 'finish') return [event]
    // Counted in metrics only: the embedded engine drafts what a grammar makes certain, and knows from where tokens are reused.
    if (event.type === 'usage')
      return [
        Object.keys(event.usage)
          .filter((name) => name !== 'drafts' && name !== 'cachedIn')
          .sort(),
      ]
    return [event.type]
  })
  return shape.filter((one, index) => one !== 'text-delta' || shape[index - 1] !== 'text-delta')
}
const shapes = new Map<string, readonly unknown[]>()

describe.each(Object.keys(engines))(`the tools of the server over the engine %s${llamaServerHint}`, (name) => {
  let engine: Engine
  beforeAll(async () => {
    engine = (await engines[name]?.()) as Engine
    cleanups.push(() => engine.close())
    await engine.ensureReady(never)
  })

  const run = async (box: ToolBox, signal = never) => {
    const events: GenerationEvent[] = []
    const deps = { now: () => performance.now(), tools: box }
    await answer(deps, [request], contextOf(engine, { signal, slots: 2 })).run((event) => {
      events.push(event)
      return undefined
    })
    return events
  }

  test('give the same events: a start, the call, what is said, one end', async () => {
    const calls: ToolRun[] = []
    const events = await run(
      boxOf(async (call) => {
        calls.push(call)
        return { text: 'sunny', isError: false }
      }),
    )
    expect(calls.map((call) => call.arguments)).toEqual([{ unit: 'C' }])
    shapes.set(name, shapeOf(events))
    const types = events.map(({ type }) => type).filter((type) => !/^(text|reasoning|prompt)/.test(type))
    expect(types).toEqual(['start', 'server-tool-start', 'server-tool-end', 'finish', 'usage'])
    expect(events.some(({ type }) => type.startsWith('tool-call'))).toBe(false)
    const end = events.at(-1)
    if (end?.type !== 'usage') throw new Error('a reply ends with its usage')
    expect(end.usage.outputTokens).toBeGreaterThan(1)
    const text = events.findIndex(({ type }) => type === 'text-delta')
    expect(text).toBeGreaterThan(events.findIndex(({ type }) => type === 'server-tool-end'))
  })

  test('C34: a cancel while the tool runs ends the reply, and the model gets no further turn', async () => {
    const controller = new AbortController()
    const cancelled = new AppError('cancelled', 'the request was cancelled', { keepsOutput: 'cancelled' })
    const events = await run(
      boxOf(({ signal }) => {
        queueMicrotask(() => controller.abort(cancelled))
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve({ text: 'ended', isError: true }))
        })
      }),
      controller.signal,
    )
    expect(events.slice(-3)).toMatchObject([
      { type: 'server-tool-end' },
      { type: 'finish', reason: 'cancelled' },
      { type: 'usage' },
    ])
    expect(events.some(({ type }) => type === 'text-delta')).toBe(false)
  })
})

test(`a server that speaks vLLM's dialect, a llama-server and llama.cpp give the same events of a call${llamaServerHint}`, () => {
  const [[, first] = [], ...others] = [...shapes]
  expect([...shapes.keys()]).toEqual(Object.keys(engines))
  expect(first).toContainEqual({ type: 'finish', choice: 0, reason: 'stop' })
  for (const [name, shape] of others) expect([name, shape]).toEqual([name, first])
})
