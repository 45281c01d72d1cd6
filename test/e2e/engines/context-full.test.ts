import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../../src/contract/engine.ts'
import type { GenerationRequest } from '../../../src/contract/request.ts'
import { foldEvents } from '../../../src/contract/result.ts'
import { generate } from '../../../src/core/generate.ts'
import { createFakeEngine } from '../../../src/engine/fake/engine.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, complete, completeChoices } from '../../engine-contract.ts'
import { contextOf } from '../../support/http/context.ts'
import { engineOverDragoman } from '../../support/upstream/over-dragoman.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const modelPath = fileURLToPath(new URL('../../../models/dragoman-tiny.gguf', import.meta.url))
const contextLength = 256
const text = 'Tell me something about tea.'
const options = { modelPath, slots: 2, contextLength, threads: 1, flashAttention: true }

const generationOf = (engine: Engine, request: GenerationRequest) => ({
  generation: generate({ now: () => performance.now() }, [request], contextOf(engine)),
})

test('a remote model gets the limit that its context has room for', async () => {
  const served = { id: 'up', engine: 'llama', source: modelPath, contextLength, threads: 1, slots: 1 } as const
  const engine = await engineOverDragoman(served)
  const run = async (protocol: Partial<GenerationRequest>) => {
    const { start, choices, usage } = await foldEvents(
      generationOf(engine, { ...chatRequest(text, { maxOutputTokens: 32_000 }), ...protocol }).generation,
    )
    expect(start.shortened).toEqual({ asked: 32_000, room: contextLength - usage.inputTokens })
    expect([choices[0]?.finish.reason, usage.outputTokens]).toEqual(['context-full', start.shortened?.room])
  }
  await run({})
  // Without a limit, the usual one of completions is 16 tokens.
  await run({ prompt: { type: 'text', text } })
  await engine.close()
})

describe.each<[string, Engine]>([
  ['llama', new LlamaEngine({ id: 'tiny', locate: async () => options, log: quiet })],
  ['fake', createFakeEngine({ script: 'from-request', contextLength })],
])('the end of the context, with the engine %s', (_, engine) => {
  afterAll(() => engine.close())
  const room = async () => contextLength - ((await engine.prepare(chatRequest(text), never)).inputTokens ?? 0)

  test('ends an output without a limit of its own, with context-full', async () => {
    const outcome = await complete(engine, chatRequest(text))
    expect(outcome).toMatchObject({ reason: 'context-full', usage: { outputTokens: await room() } })
  })

  test('ends every choice', async () => {
    const { choices } = await completeChoices(engine, chatRequest(text, { choices: 3 }))
    expect(choices.map(({ finishes }) => finishes)).toEqual([['context-full'], ['context-full'], ['context-full']])
  })

  test('is the reason when a limit that was asked for gives way to it', async () => {
    const { generation } = generationOf(engine, chatRequest(text, { maxOutputTokens: 32_000 }))
    const { start, choices, usage } = await foldEvents(generation)
    expect(start.shortened).toEqual({ asked: 32_000, room: await room() })
    expect([choices[0]?.finish.reason, usage.outputTokens]).toEqual(['context-full', await room()])
  })

  test('is not the reason when the limit of the request is reached, also at the same token', async () => {
    const maxOutputTokens = await room()
    expect(await complete(engine, chatRequest(text, { maxOutputTokens }))).toMatchObject({
      reason: 'length',
      usage: { outputTokens: maxOutputTokens },
    })
    expect(await complete(engine, chatRequest(text, { maxOutputTokens: 3 }))).toMatchObject({ reason: 'length' })
    expect(await complete(engine, chatRequest(text, { maxOutputTokens: 0 }))).toMatchObject({ reason: 'length', text: '' })
  })
})
