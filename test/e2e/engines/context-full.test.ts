import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../../src/contract/engine.ts'
import { createFakeEngine } from '../../../src/engine/fake/engine.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, complete, completeChoices } from '../../engine-contract.ts'

const never = new AbortController().signal
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const modelPath = fileURLToPath(new URL('../../../models/dragoman-tiny.gguf', import.meta.url))
const contextLength = 256
const text = 'Tell me something about tea.'
const options = { modelPath, slots: 2, contextLength, threads: 1, flashAttention: true }

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
